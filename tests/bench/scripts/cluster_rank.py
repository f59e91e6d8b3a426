"""One rank of a job that trains the model of cluster_entry.py: `cluster_rank.py BATCH STEPS BUCKET_MIB overlap|after`.

`after`: gradients are sent when backward is over, in the same buckets. Rank 0 prints the steps in milliseconds as JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable

import cluster_entry
import torch
import torch.distributed as dist
from reduced_after_backward import ReducedAfterBackward
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARMUP = 4  # the buckets are made anew after the first step


def step_of(model: nn.Module, cap: int, way: str) -> Callable[..., None]:
    if way == "overlap":
        return cluster_entry.iteration_provider(DistributedDataParallel(model, bucket_cap_mb=cap >> 20))
    reduce = ReducedAfterBackward(model, cap)
    backward = torch.Tensor.backward

    def backward_and_reduce(self: torch.Tensor) -> None:
        backward(self)
        reduce()

    torch.Tensor.backward = backward_and_reduce
    return cluster_entry.iteration_provider(model)


def main() -> None:
    batch, steps, cap, way = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) << 20, sys.argv[4]
    dist.init_process_group("gloo")
    step = step_of(cluster_entry.model_provider(), cap, way)
    inputs = cluster_entry.input_provider(batch)
    times = []
    for _ in range(WARMUP + steps):
        start = time.perf_counter()
        step(*inputs)
        times.append(1e3 * (time.perf_counter() - start))
    if dist.get_rank() == 0:
        print(json.dumps(times[WARMUP:]), flush=True)
    dist.barrier()
    os._exit(0)  # torch may crash as an interpreter with a Gloo group ends


main()
