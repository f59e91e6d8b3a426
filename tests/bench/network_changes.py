"""Changes of the network and the buckets of recorded jobs: predicted from one recording, then recorded with the change.

The ranks and their link are those of cluster.py. Needs root. The job as it is is recorded twice, first and last: no
prediction can be better than that noise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cluster

SCRIPTS = Path(__file__).resolve().parent / "scripts"
MODELS = ("mlp", "transformer")
RATE, TWICE = "1gbit", "2gbit"
BUCKET_MB = "1"
STEPS = 16
MICRO_BATCHES = 4
# What is predicted, and how the job that has it is run: link, bucket, and way of ddp_models.py.
CHANGES = {
    "bandwidth:2": (TWICE, BUCKET_MB, ""),
    "bucket-size:4MiB": (RATE, "4", ""),
    "bucket-size:25MiB": (RATE, "25", ""),
    "compression:2": (RATE, BUCKET_MB, "fp16"),
    "no-overlap": (RATE, BUCKET_MB, "after"),
}
SEARCHED_MB = (1, 2, 4, 8, 25)
SPACE_MB = (1, 4, 25)
SPACE_WAYS = ("", "micro4", "checkpoint", "micro4+checkpoint")
SPACE_HEAD = ["strategy", "predicted, for each micro-batch", "run"]
BEST_HEAD = ["job", "best by `optimize`", "in", "it took", "best of all runs", "it took", "worse by", "all runs took"]
HEAD = ["job", "change", "as it is", "predicted", "recorded with it", "error", "in the interval", "as it is, again"]


def rows(binary: Path, models: Sequence[str] = MODELS) -> list[list[str]]:
    """A row of each model and change."""
    if os.geteuid() != 0:
        print("skipped: network namespaces need root\n")
        return []
    return [row for model in models for row in _rows(binary, model)]


def _rows(binary: Path, model: str) -> list[list[str]]:
    with TemporaryDirectory() as folder:
        job = record(binary, Path(folder) / "job", model, RATE, BUCKET_MB, "")
        shown = _shown(binary, job, *(f"--change={change}" for change in CHANGES))
        was = shown["replay"]["recordedMs"]
        predictions = [one for one in shown["predicted"] if one["change"] != "all"]
        for one in predictions:
            print(f"{model}, {one['change']}: predicted {one['stepMs']['value']:.1f} ms", flush=True)
        runs = [_run_ms(binary, Path(folder), model, *CHANGES[one["change"]]) for one in predictions]
        again = _run_ms(binary, Path(folder), model, RATE, BUCKET_MB, "")
    return [_row(model, one, run, was, again) for one, run in zip(predictions, runs, strict=True)]


def _row(model: str, predicted: dict[str, Any], run: float, was: float, again: float) -> list[str]:
    step = predicted["stepMs"]
    return [
        f"{model}, {RATE}, {BUCKET_MB} MB",
        predicted["change"],
        f"{was:.1f} ms",
        f"{step['value']:.1f} ms ({step['low']:.1f} to {step['high']:.1f})",
        f"{run:.1f} ms",
        f"{step['value'] / run - 1:+.1%}",
        "yes" if step["low"] <= run <= step["high"] else "no",
        f"{again / was - 1:+.1%}",
    ]


def _run_ms(binary: Path, folder: Path, model: str, rate: str, bucket: str, way: str) -> float:
    return _shown(binary, record(binary, folder / "changed", model, rate, bucket, way))["replay"]["recordedMs"]


def record(
    binary: Path,
    file: Path,
    model: str,
    rate: str,
    bucket: str,
    way: str,
    count: int = cluster.RANKS,
    steps: int = STEPS,
) -> Path:
    """The file of a job of ranks with links of that rate; `way` is that of ddp_models.py."""
    file.unlink(missing_ok=True)
    script = [sys.executable, str(SCRIPTS / "in_namespaces.py"), str(SCRIPTS / "ddp_models.py")]
    run = [str(binary), "profile", "--python", sys.executable, "--seconds", "1", "--steps", str(steps), "--stop"]
    run += ["--job", str(file), "--", *script, model, "100000", bucket, "0", way]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NAMESPACES": str(count)}
    with cluster.namespaces(rate, count):
        done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    if not file.exists():
        sys.exit(done.stderr)
    return file


def _shown(binary: Path, file: Path, *options: str) -> dict[str, Any]:
    shown = subprocess.run(
        [str(binary), "job", "show", str(file), "--format", "json", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode != 0:
        sys.exit(shown.stderr)
    report = json.loads(shown.stdout)
    if report["replay"] is None:
        sys.exit("\n".join(report["warnings"]))
    return report


def best_rows(binary: Path, models: Sequence[str] = MODELS) -> list[list[str]]:
    """The bucket size that `ridgeline job optimize` finds, against all of them run."""
    if os.geteuid() != 0:
        print("skipped: network namespaces need root\n")
        return []
    with TemporaryDirectory() as folder:
        network = cluster.measured_network(binary, RATE, Path(folder) / "cluster.toml")
        return [_best_row(binary, Path(folder), network, model) for model in models]


def space_rows(binary: Path, model: str = "transformer") -> list[list[str]]:
    """Each strategy of a small space as it was run, beside what `ridgeline job optimize` predicts of those that it
    replays.

    The fastest run is first. Recomputation is not replayed where memory suffices."""
    if os.geteuid() != 0:
        print("skipped: network namespaces need root\n")
        return []
    with TemporaryDirectory() as folder:
        network = cluster.measured_network(binary, RATE, Path(folder) / "cluster.toml")
        job = record(binary, Path(folder) / "job", model, RATE, BUCKET_MB, "")
        answer, searched = _searched(binary, job, network, SPACE_MB, "--change", f"accumulate:{MICRO_BATCHES}")
        print(f"{model}: {_name(answer['predicted'][0])} is the best by prediction, in {searched:.1f} s", flush=True)
        predicted = {_name(one): _interval(one["stepMs"]) for one in answer["predicted"]}
        began = time.perf_counter()
        runs = {
            f"{size} MiB, {way or 'as it is'}": _run_ms(binary, Path(folder), model, RATE, str(size), way)
            / (MICRO_BATCHES if "micro4" in way else 1)
            for size in SPACE_MB
            for way in SPACE_WAYS
        }
        print(f"The runs took {time.perf_counter() - began:.0f} s.", flush=True)
    return [[name, predicted.get(name, "–"), f"{runs[name]:.1f} ms"] for name in sorted(runs, key=runs.__getitem__)]


def _interval(ms: dict[str, float]) -> str:
    return f"{ms['value']:.1f} ms ({ms['low']:.1f} to {ms['high']:.1f})"


def _name(strategy: dict[str, Any]) -> str:
    size = strategy["bucketBytes"]
    way = "as it is" if strategy["accumulate"] == 1 else f"micro{strategy['accumulate']}"
    return f"{BUCKET_MB if size is None else size >> 20} MiB, {way}"


def _searched(
    binary: Path, job: Path, network: Path, sizes: Sequence[int], *options: str
) -> tuple[dict[str, Any], float]:
    """What `ridgeline job optimize` says, and the seconds that it took."""
    command = [str(binary), "job", "optimize", str(job), "--network", str(network), "--format", "json", *options]
    began = time.perf_counter()
    done = subprocess.run(
        [*command, *(f"--change=bucket-size:{size}MiB" for size in sizes)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout), time.perf_counter() - began


def _best_row(binary: Path, folder: Path, network: Path, model: str) -> list[str]:
    job = record(binary, folder / "job", model, RATE, BUCKET_MB, "")
    answer, searched = _searched(binary, job, network, SEARCHED_MB)
    size = answer["predicted"][0]["bucketBytes"]
    found = int(BUCKET_MB) if size is None else size >> 20
    print(f"{model}: {found} MiB is the best by prediction", flush=True)
    began = time.perf_counter()
    runs = {size: _run_ms(binary, folder, model, RATE, str(size), "") for size in SEARCHED_MB}
    ran = time.perf_counter() - began
    best = min(runs, key=runs.__getitem__)
    return [
        f"{model}, {RATE}",
        f"{found} MiB",
        f"{searched:.1f} s",
        f"{runs[found]:.1f} ms",
        f"{best} MiB",
        f"{runs[best]:.1f} ms",
        f"{runs[found] / runs[best] - 1:.1%}",
        ", ".join(f"{ms:.1f}" for ms in runs.values()) + f" ms, in {ran:.0f} s",
    ]
