"""What recording costs: the step bare, under the agent, and under torch.profiler, in turns in one process.

`python overhead.py STEP AGENT ROUNDS` prints JSON: milliseconds per iteration of each way, and the ratios to the bare
step of the same round.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "profiler" / "runner"), str(ROOT / "examples" / "resnet50")]

import torch
from ridgeline_runner.machine import interpreter
from ridgeline_runner.step.recorder import Recorder
from torch import nn
from torch.profiler import ProfilerActivity, profile

Step = Callable[[], None]


def resnet50() -> tuple[nn.Module, Step]:
    """ResNet-50 at 224×224, batch 4: few, large operations."""
    import entry

    model = entry.model_provider()
    iteration = entry.iteration_provider(model)
    inputs = entry.input_provider(batch_size=4)
    return model, lambda: iteration(*inputs)


def lstm_cell() -> tuple[nn.Module, Step]:
    """64 steps of an LSTM cell, hidden 32, batch 4: thousands of tiny operations, the worst case for a recorder."""
    torch.manual_seed(0)
    cell = nn.LSTMCell(32, 32)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
    x = torch.randn(64, 4, 32)

    def step() -> None:
        optimizer.zero_grad()
        h = torch.zeros(4, 32)
        c = torch.zeros(4, 32)
        for t in range(64):
            h, c = cell(x[t], (h, c))
        h.square().mean().backward()
        optimizer.step()

    return cell, step


def timed(step: Step, iterations: int) -> float:
    """Milliseconds per iteration."""
    start = time.perf_counter_ns()
    for _ in range(iterations):
        step()
    return (time.perf_counter_ns() - start) / 1e6 / iterations


def under_agent(recorder: Recorder, step: Step, iterations: int) -> float:
    assert recorder.track_memory()
    try:
        return sum(recorder.record(step, (), iterations)) / 1e6 / iterations
    finally:
        recorder.detach()


def under_profiler(step: Step, iterations: int, **options: bool) -> float:
    with profile(activities=[ProfilerActivity.CPU], **options):
        return timed(step, iterations)


def main(name: str, agent: str, rounds: int) -> dict[str, Any]:
    model, step = {"resnet50": resnet50, "lstm_cell": lstm_cell}[name]()
    recorder = Recorder(interpreter.load_agent(agent), str(ROOT))
    recorder.set_models((model,), {})
    for _ in range(5):
        step()
    iterations = max(1, round(100 / timed(step, 2)))
    ways: dict[str, Callable[[], float]] = {
        "bare": lambda: timed(step, iterations),
        "bare again": lambda: timed(step, iterations),
        "agent, all": lambda: under_agent(recorder, step, iterations),
        "torch.profiler": lambda: under_profiler(step, iterations),
        "torch.profiler, stacks and memory": lambda: under_profiler(
            step, iterations, with_stack=True, profile_memory=True
        ),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            times[way].append(run())
    bare = times["bare"]
    return {
        way: {
            "ms": median(values),
            "ratio": median(value / base for value, base in zip(values, bare, strict=True)),
            "low": sorted(value / base for value, base in zip(values, bare, strict=True))[len(values) // 4],
            "high": sorted(value / base for value, base in zip(values, bare, strict=True))[-1 - len(values) // 4],
        }
        for way, values in times.items()
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
