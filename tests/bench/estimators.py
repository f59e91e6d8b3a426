"""Estimators of this processor, on shapes that are held out: `./dev bench estimators`. Quiet, some ten minutes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from hardware import percent, run_ridgeline

SECONDS = 270
VARIANTS = {
    "all": (),
    "half of the times": ("--share", "0.5"),
    "a tenth": ("--share", "0.1"),
    "without the product form": ("--without-product",),
}


def train(binary: Path, cache: Path, options: tuple[str, ...]) -> Any:
    given = ("--python", sys.executable, "--format", "json")
    return json.loads(run_ridgeline(binary, cache, "train", *given, *options))


def run(binary: Path, table: Callable[[list[str], list[list[str]]], None]) -> None:
    print("## Estimators\n")
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name)
        times = cache / "times.csv"
        measuring = [sys.executable, Path(__file__).with_name("estimator_shapes.py"), str(SECONDS), times]
        subprocess.run(measuring, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run_ridgeline(binary, cache, "import", str(times), "--format", "operations")
        trained = {name: train(binary, cache, options) for name, options in VARIANTS.items()}
    print_table(trained, table)


def print_table(trained: dict[str, Any], table: Callable[[list[str], list[list[str]]], None]) -> None:
    """The mean errors of each variant by operator; of the first also the rest."""
    first = next(iter(trained.values()))["heldOut"]
    means = {
        name: {one["operation"]: one["meanError"] for one in answer["heldOut"]} for name, answer in trained.items()
    }
    rows = [
        [
            one["operation"].removeprefix("aten::"),
            str(one["rows"]),
            str(one["refused"]),
            *(percent(mean.get(one["operation"])) for mean in means.values()),
            *(percent(one[key]) for key in ("medianError", "worstError", "withinInterval", "sampleSpread")),
        ]
        for one in first
    ]
    overall = [percent(fmean(mean.values())) for mean in means.values()]
    rows.append(["mean of the operators", "", "", *overall, "", "", "", ""])
    head = ["operator", "held out", "refused", *(f"mean, {name}" for name in means)]
    table([*head, "median", "worst", "in 95 %", "spread of samples"], rows)
