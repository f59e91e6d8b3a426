"""Pipelines of two stages, predicted from one process and then run: `ridgeline job predict --change pipeline:K`
against torch.distributed.pipelining over Gloo, as the jobs of cluster.py run. Needs root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from cluster import BATCHES, SCRIPTS, attempts, measure_network, namespaces

HEAD = ["pipeline", "predicted", "run (quartiles)", "error", "in the interval", "others' load"]
MODELS = ("mlp", "cnn", "transformer", "deep")
RATE = "1gbit"
RANKS = 2
MICRO_BATCHES = "2,8"
_SECONDS = 5  # of each run, about


def rows(binary: Path, models: Sequence[str] = MODELS) -> Iterator[tuple[list[str], float]]:
    """A row of each pipeline, and its relative error. Each is printed when it is predicted, and then run."""
    with namespaces(RATE, RANKS), TemporaryDirectory() as folder:
        file = measure_network(binary, Path(folder) / "cluster.toml", RANKS)
        for model in models:
            for pipeline in _predicted(binary, model, file):
                yield _row(model, pipeline)


def _predicted(binary: Path, model: str, file: Path) -> list[dict[str, Any]]:
    command = [binary, "job", "predict", SCRIPTS / "cluster_entry.py", "--python", sys.executable, "--cluster", file]
    command += ["--batch-sizes", str(BATCHES[model]), "--seconds", "4", "--format", "json"]
    command += [f"--change=pipeline:{count}" for count in MICRO_BATCHES.split(",")]
    environment = {**os.environ, "CLUSTER_MODEL": model}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["pipelines"]


def _row(model: str, pipeline: dict[str, Any]) -> tuple[list[str], float]:
    predicted, count, order = pipeline["stepMs"], pipeline["microBatches"], pipeline["order"]
    name = f"{model}, {count} micro-batches, {order}"
    print(f"{name}: predicted {predicted['value']:.1f} ms", file=sys.stderr, flush=True)
    steps = str(max(10, min(200, round(1e3 * _SECONDS / predicted["value"]))))
    ends = [",".join(stage[end] for stage in pipeline["stages"]) for end in ("firstModule", "lastModule")]
    command = [sys.executable, str(SCRIPTS / "pipeline_rank.py"), *ends, str(count), order, steps]
    output, others = min(attempts(lambda _: command, {"CLUSTER_MODEL": model}, RANKS), key=lambda attempt: attempt[1])
    times = json.loads(output)
    low, _, high = quantiles(times, n=4)
    error = predicted["value"] / median(times) - 1
    row = [
        name,
        f"{predicted['value']:.1f} ms ({predicted['low']:.1f} to {predicted['high']:.1f})",
        f"{median(times):.1f} ms ({low:.1f} to {high:.1f})",
        f"{error:+.1%}",
        "yes" if predicted["low"] <= median(times) <= predicted["high"] else "no",
        f"{others:.0%}",
    ]
    print(*row, sep="; ", file=sys.stderr, flush=True)
    return row, error
