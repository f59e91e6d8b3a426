"""Benchmarks of imported traces: their import, the replay of their graphs, and changes against traces after them."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from shared import BENCHES, BINARY, HERE, run_json, table


def bench_import(rounds: int) -> None:
    """A trace of 200 MiB, with stacks and memory, plain and compressed, becomes a report."""
    print("### Import of a trace of 200 MiB\n")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "trace.json"
        subprocess.run([sys.executable, HERE / "large_trace.py", plain, "200"], check=True)
        packed = plain.with_suffix(".json.gz")
        with plain.open("rb") as source, gzip.open(packed, "wb", 6) as target:
            shutil.copyfileobj(source, target)
        size = plain.stat().st_size / 2**20
        for trace, title in ((plain, "plain"), (packed, f"gzip, {packed.stat().st_size / 2**20:.0f} MiB")):
            seconds, worked, peaks = [], [], []
            for _ in range(rounds):
                began = time.perf_counter()
                child = subprocess.Popen([str(BINARY), "report", str(trace), "--output", os.devnull])
                _, status, usage = os.wait4(child.pid, 0)
                seconds.append(time.perf_counter() - began)
                child.returncode = os.waitstatus_to_exitcode(status)
                if child.returncode != 0:
                    sys.exit(f"import failed with {child.returncode}")
                worked.append(usage.ru_utime + usage.ru_stime)
                peaks.append(usage.ru_maxrss / 1024)
            rows.append([title, f"{median(seconds):.2f}", f"{min(seconds):.2f} to {max(seconds):.2f}"])
            rows[-1] += [f"{median(worked):.2f}", f"{size / median(worked):.0f}", f"{max(peaks):.0f}"]
    head = ["", "median, s", "least to most", "of a processor, s", "MiB of JSON per second of it", "peak memory, MiB"]
    table(head, rows)


@contextlib.contextmanager
def unpacked(trace: Path) -> Iterator[Path]:
    """The file itself, or what is in it when it is compressed by xz."""
    if trace.suffix != ".xz":
        yield trace
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / trace.stem
        with lzma.open(trace) as source, file.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield file


def bench_replay(rounds: int, arguments: argparse.Namespace) -> None:
    """The unchanged graph of each trace below --data against the iteration that it was recorded from."""
    print("### Replay of recorded iterations\n")
    patterns = ("*.json.gz", "*.sqlite", "*.sqlite.xz")
    traces = sorted(trace for one in patterns for trace in (arguments.data.rglob(one) if arguments.data else ()))
    if not traces:
        print("Skipped: name a folder with traces of torch.profiler or reports of Nsight Systems with --data.")
        return
    rows = []
    for trace in traces:
        with unpacked(trace) as file:
            found = run_json(BENCHES / "ridgeline_graph_bench", "replay", file)[0]
        if "error" in found:
            continue  # no trace of a profiler
        figures = [f"{found[name]:.3f}" for name in ("recordedMs", "replayedMs")]
        name = f"`{trace.relative_to(arguments.data)}`"
        rows.append([name, str(found["tasks"]), *figures, f"{found['errorPercent']:+.2f} %"])
    table(["trace", "tasks", "recorded, ms", "replayed, ms", "difference"], rows)


# Traces of the same script before and after one change: before, after, the change as `what-if` has it, what it was.
NSYS = "traces_nsys/{}.nsys-rep.sqlite.xz"
KINETO = "traces_kineto/kineto_tb_plugin/resnet50_num_workers_{}/"
PAIRS: list[tuple[str, str, str, str]] = [
    (NSYS.format("sc23_dali"), NSYS.format("sc23_dali_amp_bf16"), "amp", "TF32 → bf16 autocast"),
    (NSYS.format("sc22_baseline"), NSYS.format("sc22_16workers"), "loader-workers:16", "workers → 16"),
    (NSYS.format("oh_baseline_nvtx"), NSYS.format("oh_firstOptimization"), "loader-workers:2,1", "workers 1 → 2"),
    (NSYS.format("oh_firstOptimization"), NSYS.format("oh_secondOptimization"), "pinned-memory", "pinned memory"),
    (NSYS.format("sc22_4gpu_nobroadcast"), NSYS.format("sc22_4gpu_bucketcap100mb"), "bucket-size:100MiB", "buckets"),
    (KINETO.format(0), KINETO.format(4), "loader-workers:4", "workers 0 → 4"),
]


def only_trace(data: Path, name: str) -> Path | None:
    found = data / name
    if found.is_dir():
        found = next(iter(sorted(found.glob("*.json.gz"))), found / "*.json.gz")
    return found if found.is_file() else None


def bench_what_if_traces(rounds: int, arguments: argparse.Namespace) -> None:
    """Changes predicted on the trace before each, against the trace after it."""
    print("### Changes of traces, predicted and true\n")
    rows = []
    for before, after, change, what in PAIRS:
        traces = [only_trace(arguments.data, name) if arguments.data else None for name in (before, after)]
        if None in traces:
            continue
        with unpacked(traces[0]) as first, unpacked(traces[1]) as second:
            answer = run_json(BINARY, "what-if", first, "--change", change, "--format", "json")
            true_ms = run_json(BINARY, "report", second, "--format", "json")["iteration"]["timeMs"]
        row, ms = answer["changes"][-1], answer["stepMs"]
        true = ms / true_ms
        name = f"`{Path(before).name.split('.')[0]}`: {what}"
        if row["predicted"] is None:
            rows.append([name, f"{ms:.1f}", f"{true_ms:.1f}", f"{true:.2f}", row["reason"], "", ""])
            continue
        speed = row["predicted"]["speedUp"]
        inside = speed["low"] <= true <= speed["high"]
        figures = [f"{ms:.1f}", f"{true_ms:.1f}", f"{true:.2f}"]
        interval = f"{speed['value']:.2f} ({speed['low']:.2f}–{speed['high']:.2f})"
        rows.append(
            [name, *figures, interval, f"{100 * (speed['value'] / true - 1):+.0f} %", "yes" if inside else "no"]
        )
    if not rows:
        print("Skipped: name a folder with the traces with --data.")
        return
    table(["change", "before, ms", "after, ms", "true speed-up", "predicted", "error", "inside"], rows)
