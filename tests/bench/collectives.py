"""NCCL all-reduces that others measured (tables/aiconfigurator, Apache-2.0), compared with predictions from the times
of two GPUs of the same system, and from the link bandwidth on NVIDIA's data sheets."""

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
SIZES = [1 << shift for shift in range(20, 29, 2)]  # 1 MiB to 256 MiB: typical of gradient buckets
_ALL = [1 << shift for shift in range(12, 29)]

# Gbit/s of one direction: NVLink 3, 4 and 5 (600, 900 and 1,800 GB/s in both), PCIe 4.0 x16.
SHEETS = {
    "NVIDIA A100-SXM4-80GB": 2400,
    "NVIDIA H100 80GB HBM3": 3600,
    "NVIDIA H200": 3600,
    "NVIDIA B200": 7200,
    "NVIDIA L40S": 256,
}
_LATENCY_US = 5  # per step of the ring; no data sheet gives it

Table = Callable[[list[str], list[list[str]]], None]
Times = dict[tuple[str, int], dict[int, float]]


def run(binary: Path, table: Table, data: Path | None) -> None:
    if data is None or not (data / TABLE).exists():
        print(f"skipped: --data has no {TABLE}\n")
        return
    times = _times(data / TABLE)
    rows = []
    for (device, gpus), measured in sorted(times.items()):
        if not set(SIZES) <= set(measured):
            continue
        two = times.get((device, 2), {})
        if gpus > 2 and set(_ALL) <= set(two):
            rows.append([device, str(gpus), "two GPUs", *_errors(_predicted(binary, _measured(two), gpus), measured)])
        if device in SHEETS:
            rows.append([device, str(gpus), "data sheet", *_errors(_predicted(binary, _link(device), gpus), measured)])
    table(["system", "GPUs", "from", "median error", "1 MiB to 256 MiB", "in the interval"], rows)


def _errors(predicted: dict[int, tuple[float, float, float]], measured: dict[int, float]) -> list[str]:
    errors = [value / measured[size] - 1 for size, (value, _, _) in predicted.items()]
    inside = sum(low <= measured[size] <= high for size, (_, low, high) in predicted.items())
    return [f"{median(errors):+.0%}", f"{min(errors):+.0%} to {max(errors):+.0%}", f"{inside} of {len(errors)}"]


def _times(path: Path) -> Times:
    """By device and GPUs: microseconds by bytes; the median of the versions of NCCL."""
    found: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with lzma.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if row["op_name"] == "all_reduce" and row["nccl_dtype"] == "half" and row["device"]:
                size = 2 * int(row["message_size"])
                found[row["device"], int(row["num_gpus"])][size].append(1e3 * float(row["latency"]))
    return {key: {size: median(each) for size, each in sizes.items()} for key, sizes in found.items()}


def _measured(two: dict[int, float]) -> str:
    return f"[all_reduce]\nranks = 2\nbytes = {_ALL}\ntime_us = {[two[size] for size in _ALL]}\n"


def _link(device: str) -> str:
    link = f'[[link]]\nfrom = "node"\nto = "node"\nlatency_us = {_LATENCY_US}\n'
    return link + f"bandwidth_gbit_s = {SHEETS[device]}\n"


def _predicted(binary: Path, known: str, gpus: int) -> dict[int, tuple[float, float, float]]:
    """By bytes: microseconds, and the ends of the interval."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.toml"
        file.write_text(f'[[machine]]\nname = "node"\nranks = {gpus}\n{known}')
        command = [str(binary), str(file), *map(str, SIZES)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [tuple(float(ns) / 1e3 for ns in line.split()) for line in lines]
    return {size: (times[0], times[1], times[2]) for size, times in zip(SIZES, found, strict=True)}
