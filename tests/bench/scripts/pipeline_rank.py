"""One rank of a pipeline with the model of cluster_entry.py: `pipeline_rank.py FIRST LAST MICRO_BATCHES ORDER STEPS`.

FIRST and LAST are by rank, joined by commas: the modules of each stage, which a Sequential runs. Rank 0 prints the
milliseconds of its steps as JSON.
"""

import json
import sys
import time

import cluster_entry
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

WARM_UP = 3


class Mean(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(1)


def modules(model: nn.Module) -> dict[str, nn.Module]:
    """What forward of the benchmark's models runs, in its order."""
    if isinstance(model, nn.Sequential):
        return dict(model.named_children())
    return {
        **{f"blocks.{name}": block for name, block in model.blocks.named_children()},
        "mean": Mean(),
        "head": model.head,
    }


def main() -> None:
    firsts, lasts = sys.argv[1].split(","), sys.argv[2].split(",")
    count, order, steps = int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    chain = modules(cluster_entry.model_provider())
    names = list(chain)
    begin = names.index(firsts[rank])
    end = len(names) if rank == ranks - 1 else names.index(firsts[rank + 1])
    assert rank == ranks - 1 or "mean" in names[begin:end] or names[end - 1] == lasts[rank]
    part = nn.Sequential(*[chain[name] for name in names[begin:end]])
    x, y = cluster_entry.input_provider(cluster_entry.BATCH * count)
    stage = PipelineStage(part, rank, ranks, torch.device("cpu"))
    schedules = {"1F1B": Schedule1F1B, "GPipe": ScheduleGPipe}
    schedule = schedules[order](stage, count, loss_fn=nn.functional.cross_entropy)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.01, momentum=0.9)
    times = []
    for _ in range(WARM_UP + steps):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(x)
        elif rank == ranks - 1:
            schedule.step(target=y)
        else:
            schedule.step()
        optimizer.step()
        dist.barrier()
        times.append(1e3 * (time.perf_counter() - start))
    if rank == 0:
        print(json.dumps(times[WARM_UP:]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
