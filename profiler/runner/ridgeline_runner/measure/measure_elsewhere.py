"""Times operations on a machine without Ridgeline: the main program of the script that `ridgeline operations plan`
writes, which holds this module, those that it imports, and the keys of the operations. Needs Python and torch.

Writes CSV as `ridgeline operations import --format operations` reads it, row by row, so that what was measured before
an interruption counts.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from ridgeline_runner.common import timing
from ridgeline_runner.common.processor_name import processor_name
from ridgeline_runner.machine.machine_limits import machine_limits
from ridgeline_runner.measure import operation_times

COLUMNS = ("key", "time_ns", "low", "high", "samples", "device", "threads", "torch", "measured", "source")


def main(plan: dict[str, Any]) -> int:
    """`plan`: {"keys": [...], "seconds": bound of the whole, "armProcessors": of processor_name()}."""
    parser = argparse.ArgumentParser(description="Times operations of PyTorch alone, and writes them as CSV.")
    parser.add_argument("--output", type=Path, help="a file; without it, standard output")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="without it: cuda where there is one")
    parser.add_argument("--seconds", type=float, default=plan["seconds"], help="at most (default: %(default)s)")
    parser.add_argument("--describe", action="store_true", help="only say what it would time on, as JSON")
    options = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        print(f"torch cannot be imported: {error}. Run this with the Python that has it.", file=sys.stderr)
        return 3
    kind = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if kind == "cuda" and not torch.cuda.is_available():
        print("torch finds no CUDA device here.", file=sys.stderr)
        return 3
    device = torch.cuda.get_device_name() if kind == "cuda" else processor_name(plan["armProcessors"])
    if options.describe:
        print(json.dumps({"device": device, "kind": kind}))
        return 0
    keys = [on_device(key, kind) for key in plan["keys"]]
    if options.output is None:
        return _measure(keys, kind, device, options.seconds, sys.stdout)
    with options.output.open("w", encoding="utf-8", newline="") as output:
        return _measure(keys, kind, device, options.seconds, output)


def _measure(keys: list[str], kind: str, device: str, seconds: float, output: TextIO) -> int:
    import torch

    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(COLUMNS)
    where = (device, torch.get_num_threads(), torch.__version__)
    left_out = {"failed": 0, "disturbed": 0}

    def begin(index: int) -> None:
        print(f"\r{index + 1} of {len(keys)} ", end="", file=sys.stderr, flush=True)

    def send(index: int, found: dict[str, Any]) -> None:
        if "samplesNs" not in found or found["disturbed"]:
            left_out["disturbed" if "samplesNs" in found else "failed"] += 1
            return
        samples = found["samplesNs"]
        times = (timing.median(samples), min(samples), max(samples), len(samples))
        writer.writerow((keys[index], *times, *where, int(time.time()), platform.node()))
        output.flush()

    operation_times.measure(keys, memory_bytes(kind), seconds, begin=begin, send=send)
    measured = len(keys) - sum(left_out.values())
    print(
        f"\r{measured} of {len(keys)} operations measured; {left_out['failed']} cannot be measured alone or found no "
        f"time, {left_out['disturbed']} were disturbed by other processes",
        file=sys.stderr,
    )
    return 0


def on_device(key: str, kind: str) -> str:
    """The key with its tensors on a kind of device."""

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [moved(item) for item in value]
        if isinstance(value, dict):
            return {name: moved(item) for name, item in value.items()}
        if isinstance(value, str) and value.startswith("t:"):
            tensor = ":".join(value.split(":")[:4])
            is_moved = kind != "cpu" and not value.endswith(":pinned")
            return f"{tensor}:{kind}" if is_moved else tensor if kind == "cpu" else value
        if isinstance(value, str) and value.startswith("v:device:"):
            return f"v:device:{kind}" if kind == "cpu" else f"v:device:{kind}:0"
        return value

    return json.dumps(moved(json.loads(key)), separators=(",", ":"))


def memory_bytes(kind: str) -> int:
    import torch

    if kind == "cuda":
        return torch.cuda.mem_get_info()[1]
    return machine_limits().memory_bytes
