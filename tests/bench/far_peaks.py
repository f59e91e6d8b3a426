"""`./dev bench far-peaks`: peaks at batch sizes far beyond the recorded ones, against steps of that size.

Each example is recorded at the batch sizes that a short profile chooses; how far beyond them is drawn by a seed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from fits import LEFT_OUT, peak_of
from shared import BINARY, ROOT, profile_json, run_json

HEAD = ["example", "recorded", "batch size", "predicted peak, MiB", "95 % interval", "real peak, MiB", "inside"]
SEED = 20261201
_FARTHEST = 8  # times the largest recorded batch size
_MOST_BYTES = 9e9
_MIB = 1 << 20


def rows(sizes: int) -> Iterator[list[str]]:
    draw = random.Random(SEED)
    for entry in sorted((ROOT / "examples").glob("*/entry.py")):
        if entry.parent.name in LEFT_OUT:
            continue
        report = profile_json(entry, "--seconds", "0.5")
        recorded = sorted(sample["batchSize"] for sample in report["models"]["memory"]["samples"])
        for _ in range(sizes):
            row = _row(entry, recorded, round(recorded[-1] * draw.uniform(2, _FARTHEST)))
            if row is not None:
                print(*row, sep=" | ", file=sys.stderr, flush=True)
                yield row


def _row(entry: Path, recorded: list[int], size: int) -> list[str] | None:
    options = ("--python", sys.executable, "--seconds", "0.5", "--batch-size", str(size), "--format", "json")
    peak = run_json(BINARY, "predict", entry, *options)["answer"]["peakBytes"]
    real = peak_of(entry, size) if peak["value"] < _MOST_BYTES else None
    if real is None:
        return None
    low, high = peak["interval"]["low"], peak["interval"]["high"]
    return [
        entry.parent.name,
        ", ".join(map(str, recorded)),
        str(size),
        f"{peak['value'] / _MIB:.1f}",
        f"{low / _MIB:.1f} to {high / _MIB:.1f}",
        f"{real / _MIB:.1f}",
        "yes" if low <= real <= high else "no",
    ]


def run(table: Callable[[list[str], list[list[str]]], None], sizes: int) -> None:
    """`sizes`: of each example."""
    print("### Peaks far beyond the recorded batch sizes\n")
    table(HEAD, list(rows(sizes)))
