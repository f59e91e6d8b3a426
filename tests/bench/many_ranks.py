"""The search for the best strategy of BERT base on 16 ranks: two of them are recorded, and each is there eight times.

What is measured is how long `ridgeline job optimize` takes and how much memory. The ranks are the two that ran, under
other numbers: the times of a real job of 16 ranks are others. The file of the network has a line, not a measurement.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from job_file import network_text, read_job, recordings_of, write_job

SCRIPT = Path(__file__).resolve().parent / "scripts" / "bert_rank.py"
RANKS = 16
STEPS = 4
MICRO_BATCHES = ["--change", "accumulate:2", "--change", "accumulate:4"]
SEARCHES = {
    "bucket sizes": [],
    "and micro-batches, compression": [*MICRO_BATCHES, "--change", "compression:2"],
    "and fused operations": [*MICRO_BATCHES, "--change", "compression:2", "--change", "fuse-pointwise"],
}
HEAD = ["searched", "strategies", "replayed", "best", "search", "all of the command", "peak memory"]
ALL_REDUCE = {
    "bytes": [1048576, 104857600],
    "time_us": [2100, 210000],
    "low_us": [2000, 200000],
    "high_us": [2200, 220000],
    "processor_us": [1000, 100000],
}


def rows(binary: Path) -> list[list[str]]:
    with TemporaryDirectory() as folder:
        job = _many(_recorded(binary, Path(folder) / "two"), Path(folder) / "many")
        network = Path(folder) / "cluster.toml"
        network.write_text(network_text(RANKS, **ALL_REDUCE))
        return [_row(binary, job, network, name, options) for name, options in SEARCHES.items()]


def _recorded(binary: Path, file: Path) -> Path:
    """The job of two ranks."""
    torchrun = [str(Path(sys.executable).with_name("torchrun")), "--nproc-per-node", "2", "--standalone"]
    run = [str(binary), "profile", "--python", sys.executable, "--seconds", "1", "--steps", str(STEPS), "--stop"]
    done = subprocess.run(
        [*run, "--job", str(file), "--", *torchrun, str(SCRIPT), "1000"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    if not file.exists():
        sys.exit(done.stderr)
    return file


def _many(two: Path, file: Path) -> Path:
    job, recordings = read_job(two), recordings_of(two)
    job["ranks"] = [_renumbered(job["ranks"][rank % 2], rank) for rank in range(RANKS)]
    return write_job(file, job, [recordings[rank % 2] for rank in range(RANKS)])


def _renumbered(one: dict[str, Any], rank: int) -> dict[str, Any]:
    made = copy.deepcopy(one)
    record = made["record"]
    record |= {"rank": rank, "worldSize": RANKS, "transfers": []}
    for group in record["groups"]:
        group["ranks"] = list(range(RANKS))
    return made


def _row(binary: Path, job: Path, network: Path, name: str, options: list[str]) -> list[str]:
    command = [str(binary), "job", "optimize", str(job), "--network", str(network), "--format", "json", *options]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"{' '.join(command)} has ended with {os.waitstatus_to_exitcode(status)}")
    answer = json.loads(output)
    best = answer["predicted"][0]["bucketBytes"]
    size = "as recorded" if best is None else f"{best / 2**20:g} MiB"
    row = [name, str(answer["space"]), str(len(answer["predicted"])), size, f"{answer['seconds']:.1f} s"]
    row += [f"{seconds:.1f} s", f"{used.ru_maxrss / 2**20:.1f} GiB"]
    print(*row, sep="; ", file=sys.stderr, flush=True)
    return row
