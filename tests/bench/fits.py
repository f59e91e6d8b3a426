"""`./dev bench fits`: the largest batch size that is said to fit into a budget, and the next one, run.

Examples and budgets are drawn by a seed. A budget lies between what the example's own batch size needs and three times
that. The answer is right where its real peak is within the budget and that of one sample more is not.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shared import BINARY, ROOT, profile_json, run_json

HEAD = ["example", "budget, MiB", "largest that fits", "predicted peak, MiB", "real peak", "one sample more", "right"]
SEED = 20261130
EXAMPLES = 12
BUDGETS = 2
_LEFT_OUT = {"scheduled_sampling", "custom_function"}  # their peak is of a random number of steps
_MIB = 1 << 20


def _peaks(entry: Path, sizes: list[int]) -> dict[int, int]:
    report = profile_json(entry, "--seconds", "0.2", "--batch-sizes", ",".join(map(str, sizes)))
    return {one["batchSize"]: one["peakBytes"] for one in report["models"]["memory"]["samples"]}


def rows(examples: int = EXAMPLES, budgets: int = BUDGETS) -> Iterator[list[str]]:
    draw = random.Random(SEED)
    entries = sorted(path for path in (ROOT / "examples").glob("*/entry.py") if path.parent.name not in _LEFT_OUT)
    for entry in draw.sample(entries, min(examples, len(entries))):
        report = profile_json(entry, "--seconds", "0.5")
        own = report["memory"]["peakBytes"]
        for _ in range(budgets):
            yield _row(entry, round(own * draw.uniform(1.0, 3.0)))


def _row(entry: Path, budget: int) -> list[str]:
    options = ("--python", sys.executable, "--seconds", "0.5", "--fits", "--memory", str(budget), "--format", "json")
    found: dict[str, Any] = run_json(BINARY, "predict", entry, *options)["answer"]
    name = [entry.parent.name, f"{budget / _MIB:.1f}"]
    if found["batchSize"] is None:
        return [*name, "none", "", "", "", ""]
    size = found["batchSize"]
    real = _peaks(entry, [size, size + 1])
    if size not in real or size + 1 not in real:
        return [*name, str(size), f"{found['peakBytes']['value'] / _MIB:.1f}", "did not run", "", ""]
    is_right = real[size] <= budget < real[size + 1]
    peaks = [f"{bytes_ / _MIB:.1f}" for bytes_ in (found["peakBytes"]["value"], real[size], real[size + 1])]
    return [*name, str(size), *peaks, "yes" if is_right else "no"]


def run(table: Callable[[list[str], list[list[str]]], None]) -> None:
    print("### Largest batch sizes that fit\n")
    table(HEAD, list(rows()))
