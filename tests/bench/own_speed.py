"""Benchmarks of what Ridgeline itself takes: recording, analysis, models, source files, a whole profile, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from shared import BENCHES, BINARY, HERE, ROOT, profile_json, run_json, table


def newest_agent() -> Path:
    profile_json(ROOT / "examples" / "mlp" / "entry.py", "--seconds", "0.2")
    cache = Path(os.environ.get("RIDGELINE_CACHE") or Path.home() / ".cache" / "ridgeline")
    return max(cache.glob("agents/*/_ridgeline_agent.so"), key=lambda path: path.stat().st_mtime)


def bench_overhead(rounds: int) -> None:
    """Recording against the bare step and against torch.profiler."""
    agent = newest_agent()
    for step, title in (
        ("resnet50", "ResNet-50, 224×224, batch 4"),
        ("lstm_cell", "LSTM cell, 64 steps, hidden 32, batch 4"),
    ):
        print(f"### Overhead: {title}\n")
        result = run_json(sys.executable, HERE / "overhead.py", step, agent, str(rounds))
        table(
            ["variant", "ms per iteration", "ratio to bare", "middle half"],
            [
                [way, f"{row['ms']:.2f}", f"{row['ratio']:.3f}", f"{row['low']:.3f} – {row['high']:.3f}"]
                for way, row in result.items()
            ],
        )
        added = {way: row["ratio"] - 1 for way, row in result.items()}
        full = added["torch.profiler, stacks and memory"]
        if full < 0.1:
            continue  # less than the noise of a busy machine: a ratio of the two would say nothing
        print(f"The agent adds {added['agent, all'] / full:.2f} of what torch.profiler with stacks and memory adds.\n")


def bench_analysis(rounds: int) -> None:
    """A recording of a million ops becomes a profile."""
    print("### Analysis of a recording of 1 M ops\n")
    runs = [run_json(BENCHES / "ridgeline_analysis_bench") for _ in range(rounds)]
    table(
        ["", "median", "worst"],
        [
            ["seconds", f"{median(r['seconds'] for r in runs):.2f}", f"{max(r['seconds'] for r in runs):.2f}"],
            [
                "peak memory of the process, MiB",
                f"{median(r['peakBytes'] for r in runs) / 2**20:.0f}",
                f"{max(r['peakBytes'] for r in runs) / 2**20:.0f}",
            ],
            ["of that, the recording, MiB", f"{runs[0]['recordingBytes'] / 2**20:.0f}", ""],
        ],
    )


def bench_models(rounds: int) -> None:
    """The time model: fitted, asked, and its parts fitted."""
    print("### The time model\n")
    runs = [run_json(BENCHES / "ridgeline_time_model_bench") for _ in range(rounds)]
    rows = [
        [title, f"{median(run[name] for run in runs):.3g}", f"{min(run[name] for run in runs):.3g}"]
        for name, title in (
            ("fit5", "fitted to 5 batch sizes"),
            ("fit12", "to 12"),
            ("fit24", "to 24"),
            ("ask", "the time at one batch size"),
            ("part", "one line's part, of 12 batch sizes"),
        )
    ]
    table(["", "median, µs", "least, µs"], rows)


def bench_simulate(rounds: int) -> None:
    """Graphs of up to a million tasks, on a host and two streams, are copied and simulated."""
    print("### Simulation of a graph\n")
    runs = [run_json(BENCHES / "ridgeline_graph_bench", "simulate") for _ in range(rounds)]
    rows = []
    for sizes in zip(*runs, strict=True):
        simulated = median(size["simulateS"] for size in sizes)
        rows.append(
            [
                f"{sizes[0]['tasks']:,}",
                f"{1e3 * median(size['copyS'] for size in sizes):.1f}",
                f"{1e3 * simulated:.0f}",
                f"{1e3 * max(size['simulateS'] for size in sizes):.0f}",
                f"{sizes[0]['tasks'] / simulated / 1e6:.1f}",
            ]
        )
    table(["tasks", "copied, ms", "simulated, median ms", "worst ms", "million tasks per second"], rows)


def bench_source(rounds: int) -> None:
    """A long file is edited key by key."""
    print("### A key pressed in a file of 20,000 lines\n")
    runs = [run_json(BENCHES / "ridgeline_source_bench") for _ in range(rounds)]
    rows = []
    for name, title in (
        ("openedHeld", "the loop is held by opening it"),
        ("openedKnown", "until the entry point is known"),
        ("keyHeld", "the loop is held by a key"),
        ("keyKnown", "until the entry point is known again"),
        ("brokenHeld", "held, below an open bracket"),
        ("brokenKnown", "until known, below an open bracket"),
        ("bracketOpenedHeld", "held by opening 25,000 assignments below an open bracket"),
        ("bracketOpenedKnown", "until the entry point is known"),
        ("bracketHeld", "held by a key there"),
        ("bracketKnown", "until the entry point is known again"),
        ("definition", "the definition of a line"),
        ("definitions", "all definitions"),
        ("lineMap", "the map of lines, two edits"),
        ("parse", "the whole file, parsed"),
    ):
        row = [f"{median(run[name][part] for run in runs):.3f}" for part in ("p50", "p99")]
        rows.append([title, *row, f"{max(run[name]['worst'] for run in runs):.3f}"])
    table(["", "median, ms", "p99, ms", "worst, ms"], rows)


def seconds(command: list[str | Path]) -> float:
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return time.perf_counter() - start


def bench_profile(rounds: int) -> None:
    """A whole profile against the bare iterations that it timed, beside the import of torch."""
    print("### A whole profile of each example\n")
    rows = []
    newest_agent()  # not built while the clock runs
    imports = [sys.executable, "-c", "import torch, torch._dynamo"]
    for name in sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py")):
        ratios, walls, bares = [], [], []
        for _ in range(rounds):
            importing = seconds(imports)
            start = time.perf_counter()
            report = profile_json(ROOT / "examples" / name / "entry.py")
            wall = time.perf_counter() - start - importing
            bare = sum(s["timeMs"] * s["iterations"] for s in report["models"]["time"]["samples"]) / 1000
            walls.append(wall)
            bares.append(bare)
            ratios.append(wall / bare)
        rows.append([name, f"{median(bares):.2f}", f"{median(walls):.2f}", f"{median(ratios):.2f}"])
    table(["example", "bare iterations, s", "profile without the import of torch, s", "ratio"], rows)


def bench_cancel(rounds: int) -> None:
    """From SIGINT to the end of the daemon, at every stage."""
    print("### Cancel\n")
    entry = ROOT / "examples" / "resnet50" / "entry.py"
    rows = []
    for stage in ("Importing torch", "Recording batch size", "Timing the bare step"):
        times = []
        for _ in range(rounds):
            process = subprocess.Popen(
                [BINARY, "profile", entry, "--python", sys.executable], stderr=subprocess.PIPE, text=True
            )
            assert process.stderr is not None
            next(line for line in process.stderr if line.startswith(stage))
            time.sleep(0.05)
            start = time.perf_counter()
            process.send_signal(signal.SIGINT)
            process.wait()
            times.append(1000 * (time.perf_counter() - start))
        rows.append([stage, f"{median(times):.0f}", f"{max(times):.0f}"])
    table(["stage", "median ms", "worst ms"], rows)
