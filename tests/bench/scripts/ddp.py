"""DistributedDataParallel on the CPU, for torchrun."""

from __future__ import annotations

import gc

import torch
import torch.distributed as dist
from common import print_digest, until_enough
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
    for x, y in until_enough(DataLoader(data, batch_size=16, sampler=DistributedSampler(data))):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print_digest(network)
    # Left to the end of the interpreter, DDP's threads end one run in six with SIGABRT (torch 2.13.0).
    del model, optimizer
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
