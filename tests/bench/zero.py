"""The peak of a rank with ZeRO: `ridgeline what-if --cluster --zero` against two ranks with torch's own sharding.

Stage 0 is DistributedDataParallel, stage 1 ZeroRedundancyOptimizer in it, stage 2 FSDP's `fully_shard` of each module
that has weights itself, which stay gathered from forward to backward, and stage 3 the same with weights that are
gathered twice. The real peak is what `ridgeline run` recorded of each rank, on the CPU with Gloo.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster import BATCHES, SCRIPTS

MODELS = ("mlp", "cnn", "transformer")
HEAD = ["model", "stage", "predicted from", "to", "rank 0", "rank 1", "error"]
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
        command = [binary, "what-if", SCRIPTS / "cluster_entry.py", "--python", sys.executable, "--cluster", file]
        command += ["--batch-sizes", str(BATCHES[model]), "--time-budget", "1", "--format", "json"]
        command += ["--zero", "1,2,3", "--bucket-size", "1KiB"]
        environment = {**os.environ, "CLUSTER_MODEL": model}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {one["sharding"]: (one["leastPeakBytes"], one["peakBytes"]) for one in json.loads(done.stdout)["predicted"]}


def _real_peaks(binary: Path, model: str, stage: int) -> list[int]:
    """Of both ranks."""
    torchrun = [str(Path(sys.executable).with_name("torchrun")), "--standalone", "--nproc-per-node", "2"]
    command = [binary, "run", "--python", sys.executable, "--time-budget", "1", "--steps", "4", "--stop"]
    script = [str(SCRIPTS / "zero_rank.py"), str(stage), str(BATCHES[model])]
    environment = {**os.environ, "CLUSTER_MODEL": model, "OMP_NUM_THREADS": "1"}
    with TemporaryDirectory() as folder:
        command += ["--format", "json", "--output", str(Path(folder) / "report.json"), "--", *torchrun, *script]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        reports = [Path(folder) / name for name in ("report.json", "report.rank1.json")]
        if not all(report.exists() for report in reports):
            sys.exit(done.stderr)
        return [json.loads(report.read_text())["memory"]["peakBytes"] for report in reports]
