"""Recorded jobs of two ranks, replayed: `ridgeline job` next to what was recorded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

SCRIPT = Path(__file__).resolve().parent / "scripts" / "ddp_models.py"
MODELS = ("mlp", "cnn", "transformer")
BUCKETS_MB = ("25", "1")
STEPS = 250
REPLAYED = r"replayed [\d.]+ \S+, recorded ([\d.]+ \S+) \(([-+][\d.]+) %\)"


def rows(binary: Path, rounds: int) -> list[list[str]]:
    """A row of each model and bucket size: the median of the rounds, and the worst of them."""
    return [_row(binary, model, bucket, rounds) for model in MODELS for bucket in BUCKETS_MB]


def _row(binary: Path, model: str, bucket: str, rounds: int) -> list[str]:
    errors, steps = [], []
    for _ in range(rounds):
        text = _replay(binary, model, bucket)
        found = re.search(REPLAYED, text)
        if found is None:
            sys.exit(f"{model}: no replay in\n{text}")
        steps.append(found[1])
        errors.append(float(found[2]))
    return [f"{model}, {bucket} MB", ", ".join(steps), _errors(errors)]


def _errors(errors: list[float]) -> str:
    return f"{median(errors):+.1f} % ({max(errors, key=abs):+.1f} %)"


def _replay(binary: Path, model: str, bucket: str) -> str:
    with TemporaryDirectory() as folder:
        return shown(binary, recorded(binary, Path(folder) / "job", model, bucket))


def recorded(binary: Path, file: Path, model: str, bucket: str, *late_ms: str) -> Path:
    """The file of a job of two ranks; rank 1 sleeps `late_ms` in each step."""
    torchrun = [str(Path(sys.executable).with_name("torchrun")), "--nproc-per-node", "2", "--standalone"]
    run = [str(binary), "run", "--python", sys.executable, "--time-budget", "2", "--steps", "16"]
    run += ["--job", str(file), "--", *torchrun, str(SCRIPT), model, str(STEPS), bucket, *late_ms]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    if not file.exists():
        sys.exit(done.stderr)
    return file


def shown(binary: Path, file: Path, *options: str) -> str:
    return subprocess.run([str(binary), "job", str(file), *options], capture_output=True, text=True, check=True).stdout
