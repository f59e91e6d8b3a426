"""Times of operations alone, as `ridgeline operations measure` takes them, beside others': `./dev bench timers`.

Beside torch.utils.benchmark.Timer on fifty operations: each alone, right after it was timed by the other, and in turns
with all, as a step has them, where caches and the heap are those that other operations left. And of an operation that
waits for a time that is known, less what it takes to wait for none. Quiet, half a minute.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from time import perf_counter_ns
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler/runner"))
import estimator_shapes  # noqa: E402

OPERATIONS = 50
ROUNDS = 3
KNOWN_US = (0, 100, 1_000, 10_000)
Table = Callable[[list[str], list[list[str]]], None]


def measured_ns(keys: list[str]) -> dict[str, float]:
    from ridgeline_runner.common import timing
    from ridgeline_runner.measure import operation_times

    found: dict[int, dict[str, Any]] = {}
    operation_times.measure(keys, 0, 120, begin=lambda _: None, send=lambda index, one: found.update({index: one}))
    return {keys[index]: timing.median(one["samplesNs"]) for index, one in found.items() if "samplesNs" in one}


def torch_ns(key: str) -> float:
    import torch
    from ridgeline_runner.measure.operation_key import Call
    from torch.utils.benchmark import Timer

    with torch.no_grad():
        timer = Timer("run()", globals={"run": Call(key).run}, num_threads=torch.get_num_threads())
        return timer.blocked_autorange(min_run_time=0.05).median * 1e9


def define_wait() -> None:
    """An operation that takes so many microseconds, by the clock."""
    import torch

    library = torch.library.Library("ridgeline_bench", "DEF")
    library.define("wait(Tensor x, int us) -> Tensor")

    def wait(x: torch.Tensor, us: int) -> torch.Tensor:
        end = perf_counter_ns() + 1000 * us
        while perf_counter_ns() < end:
            pass
        return x

    library.impl("wait", wait, "CPU")
    define_wait.library = library  # type: ignore[attr-defined] # as long as it lives, the operation is there


def run(table: Table) -> None:
    random_ = random.Random(estimator_shapes.SEED)
    names = (estimator_shapes.OPERATORS * OPERATIONS)[:OPERATIONS]
    keys = [estimator_shapes.draw(name, random_) for name in names]
    alone: dict[str, list[float]] = {key: [] for key in keys}
    in_turns: dict[str, list[float]] = {key: [] for key in keys}
    torchs: dict[str, list[float]] = {key: [] for key in keys}
    for _ in range(ROUNDS):
        for key in keys:
            torchs[key].append(torch_ns(key))
            alone[key] += measured_ns([key]).values()
        for key, ns in measured_ns(keys).items():
            in_turns[key].append(ns)

    def off(found: dict[str, list[float]], key: str) -> float:
        return median(found[key]) / median(torchs[key]) - 1

    print("## Times of operations alone, and torch.utils.benchmark\n")
    rows = []
    for operator in (*estimator_shapes.OPERATORS, None):
        own = [key for key, name in zip(keys, names, strict=True) if operator in (name, None)]
        ratios = sorted(off(alone, key) for key in own)
        again = [max(torchs[key]) / min(torchs[key]) - 1 for key in own]
        figures = [f"{ratios[0]:+.1%} to {ratios[-1]:+.1%}", f"{fmean(map(abs, ratios)):.1%}", f"{median(again):.1%}"]
        turns = f"{median(off(in_turns, key) for key in own):+.1%}"
        rows.append([operator or "all", str(len(own)), *figures, turns])
    head = ["operator", "operations", "alone, against torch", "mean of |.|", "torch's rounds, median spread"]
    table([*head, "in turns, against torch, median"], rows)
    define_wait()
    waits = [estimator_shapes.key("ridgeline_bench::wait.default", estimator_shapes.tensor(1), us) for us in KNOWN_US]
    none, *known = (measured_ns([wait])[wait] for wait in waits)
    rows = [[f"{us} µs", f"{(ns - none) / us / 1000 - 1:+.2%}"] for us, ns in zip(KNOWN_US[1:], known, strict=True)]
    table(["known", "measured"], rows)
