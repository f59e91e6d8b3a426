"""All-reduces of NCCL that others measured (tables/aiconfigurator, Apache-2.0), against what follows from those of two
GPUs of the same system."""

from __future__ import annotations

import csv
import lzma
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

TABLE = Path("tables") / "aiconfigurator" / "nccl_all_systems.csv.xz"
SIZES = [1 << shift for shift in range(20, 29, 2)]  # 1 MiB to 256 MiB: of buckets
_ALL = [1 << shift for shift in range(12, 29)]

Table = Callable[[list[str], list[list[str]]], None]
Times = dict[tuple[str, int], dict[int, float]]


def run(binary: Path, table: Table, data: Path | None) -> None:
    if data is None or not (data / TABLE).exists():
        print(f"skipped: --data has no {TABLE}\n")
        return
    times = _times(data / TABLE)
    rows = []
    for (device, gpus), measured in sorted(times.items()):
        two = times.get((device, 2), {})
        if gpus > 2 and set(_ALL) <= set(two) and set(SIZES) <= set(measured):
            errors = [predicted / measured[size] - 1 for size, predicted in _predicted(binary, two, gpus).items()]
            rows.append([device, str(gpus), f"{median(errors):+.0%}", f"{min(errors):+.0%} to {max(errors):+.0%}"])
    table(["system", "GPUs", "median error", "from 1 MiB to 256 MiB"], rows)


def _times(path: Path) -> Times:
    """By device and GPUs: microseconds by bytes; the median of the versions of NCCL."""
    found: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with lzma.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if row["op_name"] == "all_reduce" and row["nccl_dtype"] == "half" and row["device"]:
                size = 2 * int(row["message_size"])
                found[row["device"], int(row["num_gpus"])][size].append(1e3 * float(row["latency"]))
    return {key: {size: median(each) for size, each in sizes.items()} for key, sizes in found.items()}


def _predicted(binary: Path, two: dict[int, float], gpus: int) -> dict[int, float]:
    text = f'[[machine]]\nname = "node"\nranks = {gpus}\n[all_reduce]\nranks = 2\n'
    text += f"bytes = {_ALL}\ntime_us = {[two[size] for size in _ALL]}\n"
    with TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.toml"
        file.write_text(text)
        command = [str(binary), str(file), *map(str, SIZES)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {size: float(line.split()[0]) / 1e3 for size, line in zip(SIZES, lines, strict=True)}
