"""A loop with Accelerate, which wraps the model, the optimizer and the data loader."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from common import print_digest, until_enough
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True)
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
    model, optimizer, loader = accelerator.prepare(
        network, torch.optim.AdamW(network.parameters()), DataLoader(data, batch_size=16, shuffle=True)
    )
    for x, y in until_enough(loader):
        optimizer.zero_grad()
        accelerator.backward(nn.functional.cross_entropy(model(x), y))
        optimizer.step()
    print_digest(network)


if __name__ == "__main__":
    main()
