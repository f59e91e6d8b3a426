"""One rank of a job that trains the model of cluster_entry.py with a stage of ZeRO: `zero_rank.py STAGE BATCH [STEPS]`.

Of a job with STEPS, rank 0 prints them in milliseconds as JSON.
"""

import json
import os
import sys
import time

import cluster_entry
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

MOST_STEPS = 2000
WARMUP = 4


def sharded(model: nn.Module, stage: int) -> nn.Module:
    if stage < 2:
        return DistributedDataParallel(model)
    for layer in [layer for layer in model.modules() if any(True for _ in layer.parameters(recurse=False))]:
        fully_shard(layer, reshard_after_forward=stage == 3)
    fully_shard(model, reshard_after_forward=stage == 3)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)  # Gloo has no average
    return model


def main() -> None:
    stage, batch, timed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    dist.init_process_group("gloo")
    model = sharded(cluster_entry.model_provider(), stage)
    if stage == 1:
        optimizer: torch.optim.Optimizer = ZeroRedundancyOptimizer(
            model.parameters(), torch.optim.SGD, lr=0.01, momentum=0.9
        )
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = cluster_entry.input_provider(batch)  # makes a model for their shapes: not in a step
    times = []
    for _ in range(WARMUP + int(timed[0]) if timed else MOST_STEPS):
        start = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - start))
    if timed and dist.get_rank() == 0:
        print(json.dumps(times[WARMUP:]), flush=True)
    dist.barrier()
    if timed:
        os._exit(0)  # torch may crash as an interpreter with a Gloo group ends
    dist.destroy_process_group()


main()
