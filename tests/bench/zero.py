"""Peaks and steps of two ranks with ZeRO: `ridgeline job predict --change zero:STAGE` against torch's own sharding.

Stage 0 is DistributedDataParallel, stage 1 ZeroRedundancyOptimizer in it, stage 2 FSDP's `fully_shard` of each module
that has weights itself, which stay gathered from forward to backward, and stage 3 the same with weights that are
gathered twice. The real peak is what `ridgeline profile` recorded of each rank, on the CPU with Gloo. Steps are run in
network namespaces, as those of cluster.py are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

from cluster import BATCHES, SCRIPTS, attempts, measured_network, namespaces

MODELS = ("mlp", "cnn", "transformer")
HEAD = ["model", "stage", "predicted from", "to", "rank 0", "rank 1", "error"]
TIME_HEAD = ["job", "predicted", "run (quartiles)", "error", "in the interval", "others' load"]
RATE = "1gbit"
_RANKS = 2
_SECONDS = 5  # of each run, about
_CLUSTER = """\
[[machine]]
name = "node"
ranks = 2
cores = 2
[[link]]
from = "node"
to = "node"
latency_us = 50
bandwidth_gbit_s = 10
"""


def rows(binary: Path, models: Sequence[str] = MODELS) -> list[list[str]]:
    return [_row(binary, model, stage, peak) for model in models for stage, peak in _predicted(binary, model).items()]


def _row(binary: Path, model: str, stage: int, predicted: tuple[int, int]) -> list[str]:
    real = _real_peaks(binary, model, stage)
    row = [model, str(stage), *(f"{peak / 2**20:.2f} MiB" for peak in (*predicted, *real))]
    row.append(f"{predicted[1] / max(real) - 1:+.1%}")
    print(*row, sep="; ", file=sys.stderr, flush=True)
    return row


def _predicted(binary: Path, model: str) -> dict[int, tuple[int, int]]:
    """By stage, the least and the most. Units are modules: none has more than the smallest bucket."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.toml"
        file.write_text(_CLUSTER)
        trainings = _trainings(binary, model, file, "1,2,3", "1", "bucket-size:1KiB")
    return {one["sharding"]: (one["leastPeakBytes"], one["peakBytes"]) for one in trainings}


def _trainings(
    binary: Path, model: str, cluster: Path, stages: str, seconds: str, *changes: str
) -> list[dict[str, Any]]:
    """What is predicted of these stages, and of none."""
    command = [binary, "job", "predict", SCRIPTS / "cluster_entry.py", "--python", sys.executable, "--cluster", cluster]
    command += ["--batch-sizes", str(BATCHES[model]), "--seconds", seconds, "--format", "json"]
    command += [f"--change=zero:{stage}" for stage in stages.split(",")]
    command += [f"--change={change}" for change in changes]
    environment = {**os.environ, "CLUSTER_MODEL": model}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["predicted"]


def time_rows(binary: Path, models: Sequence[str] = MODELS) -> Iterator[tuple[list[str], float]]:
    """Each with its error. Stage 1 has DistributedDataParallel's buckets, 2 and 3 a unit for each module."""
    with TemporaryDirectory() as folder:
        file = measured_network(binary, RATE, Path(folder) / "cluster.toml")
        for model in models:
            trainings = _trainings(binary, model, file, "1", "4")
            trainings += _trainings(binary, model, file, "2,3", "4", "bucket-size:1KiB")
            for training in trainings:
                if training["sharding"] > 0:
                    yield _time_row(model, training["sharding"], training["stepMs"])


def _time_row(model: str, stage: int, predicted: dict[str, float]) -> tuple[list[str], float]:
    figure = f"{predicted['value']:.1f} ms ({predicted['low']:.1f} to {predicted['high']:.1f})"
    print(f"{model}, stage {stage}: predicted {figure}", flush=True)
    steps = str(max(15, min(200, round(1e3 * _SECONDS / predicted["value"]))))
    rank = [sys.executable, str(SCRIPTS / "zero_rank.py"), str(stage), str(BATCHES[model]), steps]
    with namespaces(RATE):
        output, others = min(attempts(lambda _: rank, {"CLUSTER_MODEL": model}, _RANKS), key=lambda attempt: attempt[1])
    times = json.loads(output)
    low, middle, high = quantiles(times, n=4)
    error = predicted["value"] / middle - 1
    inside = "yes" if predicted["low"] <= middle <= predicted["high"] else "no"
    run = f"{middle:.1f} ms ({low:.1f} to {high:.1f})"
    print(f"  run: {run}, {error:+.1%}", flush=True)
    return [f"{model}, stage {stage}", figure, run, f"{error:+.1%}", inside, f"{others:.0%}"], error


def _real_peaks(binary: Path, model: str, stage: int) -> list[int]:
    """The peaks of both ranks."""
    torchrun = [str(Path(sys.executable).with_name("torchrun")), "--standalone", "--nproc-per-node", "2"]
    command = [binary, "profile", "--python", sys.executable, "--seconds", "1", "--steps", "4", "--stop"]
    script = [str(SCRIPTS / "zero_rank.py"), str(stage), str(BATCHES[model])]
    environment = {**os.environ, "CLUSTER_MODEL": model, "OMP_NUM_THREADS": "1"}
    with TemporaryDirectory() as folder:
        command += ["--format", "json", "--output", str(Path(folder) / "report.json"), "--", *torchrun, *script]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        reports = [Path(folder) / name for name in ("report.json", "report.rank1.json")]
        if not all(report.exists() for report in reports):
            sys.exit(done.stderr)
        return [json.loads(report.read_text())["memory"]["peakBytes"] for report in reports]
