"""What recording communication costs a rank: steps like those of the `ddp` script, with it and without, in turns.

Run it under a launcher, with the agent that a `ridgeline profile` has built in the cache:

    torchrun --nproc-per-node 2 --standalone tests/bench/communication_overhead.py CACHE
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))
from ridgeline_runner.machine.interpreter import load_agent
from ridgeline_runner.script.communication import CommunicationWatch

STEPS = 100  # of a block
BLOCKS = 60  # of each kind
KINDS = ("recorded", "bare", "bare again")


def main() -> None:
    agents = sorted((Path(sys.argv[1]) / "agents").glob("*/_ridgeline_agent.so"), key=lambda one: one.stat().st_mtime)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(16, 64), torch.randint(0, 10, (16,))
    watch = CommunicationWatch(load_agent(str(agents[-1])), [])
    watch.follow([model])

    def block(*, recorded: bool) -> float:
        """The median step, in microseconds."""
        if recorded:
            watch.begin()
        times = []
        for step in range(STEPS):
            start = perf_counter_ns()
            if recorded:
                watch.iteration_begins(step)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            times.append((perf_counter_ns() - start) / 1000)
        watch.end()
        return median(times)

    block(recorded=True)
    order = random.Random(1)
    turns = []
    for _ in range(BLOCKS):
        kinds = order.sample(KINDS, len(KINDS))
        turns.append({kind: block(recorded=kind == "recorded") for kind in kinds})
    for rank in range(dist.get_world_size()):
        dist.barrier()
        if rank == dist.get_rank():
            report(rank, turns)
    dist.barrier()


def report(rank: int, turns: list[dict[str, float]]) -> None:
    usual = median(turn["bare"] for turn in turns)
    print(f"rank {rank}: a bare step takes {usual:.0f} µs", flush=True)
    for kind in ("recorded", "bare again"):
        ratios = sorted(turn[kind] / turn["bare"] for turn in turns)
        cut = int((len(ratios) - 1.96 * len(ratios) ** 0.5) / 2)
        low, high = ratios[cut], ratios[-1 - cut]
        print(f"  {kind}: {median(ratios):.3f} of it (95 % interval {low:.3f} to {high:.3f})", flush=True)


if __name__ == "__main__":
    main()
