"""Records steps that are hard to record without slowing them down, and prints what the agent did meanwhile.

`python record_deep.py STEP AGENT` prints JSON: of each recorded iteration the growth of every count that the agent
keeps (`work`), and what the step itself did.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

import torch
from ridgeline_runner.machine import interpreter
from ridgeline_runner.step.recorder import Recorder
from torch import nn

ITERATIONS = 4
Step = Callable[[], None]


def recursion(depth: int, leaf: Callable[[], None], each: Callable[[], None]) -> Step:
    def descend(level: int) -> None:
        each()
        if level == 0:
            leaf()
        else:
            descend(level - 1)

    sys.setrecursionlimit(depth + 1000)
    return lambda: descend(depth)


def nothing() -> None:
    pass


def busy(seconds: float) -> Callable[[], None]:
    def wait() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    return wait


class Nested(nn.Module):
    """As many modules, one in the other."""

    def __init__(self, levels: int) -> None:
        super().__init__()
        self.inner = Nested(levels - 1) if levels > 1 else nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + 1


def nested_modules() -> Step:
    model = Nested(110)
    x = torch.randn(2, 4)

    def step() -> None:
        for _ in range(5):
            model(x).sum().backward()

    return step


def tiny_operation() -> Callable[[], None]:
    x = torch.zeros(1)
    return lambda: x.add_(1) and None


def operations_only() -> Step:
    """Operations that follow each other for a tenth of a second."""
    a = torch.randn(96, 96)

    def step() -> None:
        end = time.perf_counter() + 0.1
        while time.perf_counter() < end:
            a.mm(a)

    return step


def long_gaps() -> Step:
    """Ten gaps of 5 ms between operations."""
    x = torch.zeros(1)
    wait = busy(0.005)

    def step() -> None:
        for _ in range(10):
            x.add_(1)
            wait()

    return step


def long_gaps_at_ends() -> Step:
    """Ten gaps of 5 ms in hooks, each at the end of an operation."""
    wait = busy(0.005)
    weights = [nn.Parameter(torch.zeros(1)) for _ in range(5)]
    for weight in weights:
        weight.register_post_accumulate_grad_hook(lambda _: wait())

    def step() -> None:
        for weight in weights:
            product = weight * 2
            product.grad_fn.register_hook(lambda _, __: wait())
            product.backward()

    return step


def a_few_long_gaps_of_many() -> Step:
    """Gaps of 2 ms in the hooks of ten parameters, and none after ninety others."""
    wait = busy(0.002)
    weights = [nn.Parameter(torch.zeros(1)) for _ in range(100)]
    for weight in weights[::10]:
        weight.register_post_accumulate_grad_hook(lambda _: wait())
    return lambda: torch.stack(weights).sum().backward()


STEPS: dict[str, Callable[[], Step]] = {
    "recursion without operations": lambda: recursion(1200, busy(0.02), nothing),
    "recursion with operations": lambda: recursion(600, nothing, tiny_operation()),
    "very deep recursion": lambda: recursion(5000, busy(0.02), tiny_operation()),
    "nested modules": nested_modules,
    "operations only": operations_only,
    "long gaps": long_gaps,
    "long gaps at ends of operations": long_gaps_at_ends,
    "a few long gaps of many": a_few_long_gaps_of_many,
}


def main(name: str, agent_path: str) -> list[dict[str, int]]:
    torch.set_num_threads(1)
    agent = interpreter.load_agent(agent_path)
    recorder = Recorder(agent, str(ROOT))
    assert recorder.track_memory()
    step = STEPS[name]()
    step()
    counts = []
    for _ in range(ITERATIONS):
        before = agent.work()
        recorder.record(step, (), 1)
        after = agent.work()
        counts.append({key: after[key] - (0 if key == "ops" else before[key]) for key in after})
    recorder.detach()
    return counts


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
