"""Times of operations alone, as `ridgeline operations measure` takes them, beside others': `./dev bench timers`.

Beside torch.utils.benchmark.Timer on fifty operations, each timed in turns by both; and of an operation that waits for
a time that is known. Quiet, about a minute.
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
KNOWN_US = (100, 1_000, 10_000)
Table = Callable[[list[str], list[list[str]]], None]


def measured_ns(keys: list[str]) -> dict[str, float]:
    from ridgeline_runner import operation_times, timing

    found: dict[int, dict[str, Any]] = {}
    operation_times.measure(keys, 0, 120, begin=lambda _: None, send=lambda index, one: found.update({index: one}))
    return {keys[index]: timing.median(one["samplesNs"]) for index, one in found.items() if "samplesNs" in one}


def torch_ns(key: str) -> float:
    import torch
    from ridgeline_runner.operation_key import Call
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
    ours: dict[str, list[float]] = {key: [] for key in keys}
    torchs: dict[str, list[float]] = {key: [] for key in keys}
    for _ in range(ROUNDS):
        for key, ns in measured_ns(keys).items():
            ours[key].append(ns)
        for key in keys:
            torchs[key].append(torch_ns(key))
    print("## Times of operations alone, and torch.utils.benchmark\n")
    rows = []
    for operator in estimator_shapes.OPERATORS:
        own = [key for key, name in zip(keys, names, strict=True) if name == operator]
        ratios = [median(ours[key]) / median(torchs[key]) - 1 for key in own]
        again = [max(torchs[key]) / min(torchs[key]) - 1 for key in own]
        spread = [f"{min(ratios):+.1%} to {max(ratios):+.1%}", f"{fmean(map(abs, ratios)):.1%}", f"{median(again):.1%}"]
        rows.append([operator, str(len(own)), *spread])
    table(["operator", "operations", "against torch", "mean of |.|", "torch's own rounds, median spread"], rows)
    define_wait()
    waits = [estimator_shapes.key("ridgeline_bench::wait.default", estimator_shapes.tensor(1), us) for us in KNOWN_US]
    found = measured_ns(waits)
    known = [[f"{us} µs", f"{found[one] / us / 1000 - 1:+.2%}"] for us, one in zip(KNOWN_US, waits, strict=True)]
    table(["known", "measured"], known)
