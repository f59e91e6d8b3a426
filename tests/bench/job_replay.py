"""Recorded jobs of two ranks, replayed: `ridgeline job show` next to what was recorded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import network_changes

SCRIPT = Path(__file__).resolve().parent / "scripts" / "ddp_models.py"
MODELS = ("mlp", "cnn", "transformer")
BUCKETS_MB = ("25", "1")
LINKED_MODELS = (*MODELS, "deep", "lstm", "autoencoder")
WAYS = {"ring": "", "server": "server"}  # of ddp_models.py: DistributedDataParallel, or a parameter server
RATES = ("4gbit", "1gbit", "250mbit")
STEPS = 250
REPLAYED = r"replayed [\d.]+ \S+, recorded ([\d.]+ \S+) \(([-+][\d.]+) %\)"


def rows(binary: Path, rounds: int) -> list[list[str]]:
    """A row of each model and bucket size: the median of the rounds, and the worst of them."""
    return [_row(binary, model, bucket, rounds) for model in MODELS for bucket in BUCKETS_MB]


def linked_rows(binary: Path, rounds: int, rates: Sequence[str]) -> list[list[str]]:
    """The same of each model and way to exchange gradients, for each rate of the link between the ranks."""
    if os.geteuid() != 0:
        print("skipped: network namespaces need root\n")
        return []
    return [
        _replayed_row(f"{model}, {way}, {rate}", [_linked_replay(binary, model, way, rate) for _ in range(rounds)])
        for rate in rates
        for model in LINKED_MODELS
        for way in WAYS
    ]


def _linked_replay(binary: Path, model: str, way: str, rate: str) -> str:
    with TemporaryDirectory() as folder:
        return shown(binary, network_changes.record(binary, Path(folder) / "job", model, rate, "25", WAYS[way]))


def _row(binary: Path, model: str, bucket: str, rounds: int) -> list[str]:
    return _replayed_row(f"{model}, {bucket} MB", [_replay(binary, model, bucket) for _ in range(rounds)])


def _replayed_row(name: str, texts: list[str]) -> list[str]:
    found = [re.search(REPLAYED, text) or sys.exit(f"{name}: no replay in\n{text}") for text in texts]
    row = [name, ", ".join(one[1] for one in found), _errors([float(one[2]) for one in found])]
    print(*row, sep="; ", file=sys.stderr, flush=True)
    return row


def _errors(errors: list[float]) -> str:
    return f"{median(errors):+.1f} % ({max(errors, key=abs):+.1f} %)"


def _replay(binary: Path, model: str, bucket: str) -> str:
    with TemporaryDirectory() as folder:
        return shown(binary, recorded(binary, Path(folder) / "job", model, bucket))


def recorded(binary: Path, file: Path, model: str, bucket: str, *late_ms: str) -> Path:
    """The file of a job of two ranks; rank 1 sleeps `late_ms` in each step."""
    torchrun = [str(Path(sys.executable).with_name("torchrun")), "--nproc-per-node", "2", "--standalone"]
    run = [str(binary), "profile", "--python", sys.executable, "--seconds", "2", "--steps", "16"]
    run += ["--job", str(file), "--", *torchrun, str(SCRIPT), model, str(STEPS), bucket, *late_ms]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    if not file.exists():
        sys.exit(done.stderr)
    return file


def shown(binary: Path, file: Path, *options: str) -> str:
    return subprocess.run(
        [str(binary), "job", "show", str(file), *options], capture_output=True, text=True, check=True
    ).stdout
