"""Predictions against real runs: what `./dev bench accuracy` prints.

For each model one profile times all batch sizes in turns, so that a machine that changes its speed changes it for all;
`--check-sizes` keeps six of them out of the models. Then the largest batch size that fits into a memory limit is
predicted from the same profile, and found by bisection: real iterations, counted by torch.profiler and not by us.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OBSERVE_PEAK = ROOT / "tests" / "integration" / "observe_peak.py"


@dataclass(frozen=True)
class Case:
    """An example: what is sampled, and six sizes that are not, inside of that range and beyond both of its ends."""

    example: str
    sampled: tuple[int, ...]
    checked: tuple[int, ...]
    limit_size: int  # the memory limit lies between the peaks of this size and the next


CASES = (
    Case("mlp", (16, 32, 64, 128, 192), (8, 24, 48, 96, 256, 384), 300),
    Case("resnet50", (2, 4, 6, 8), (1, 3, 5, 7, 10, 12), 11),
    Case("vgg11", (2, 4, 6, 8), (1, 3, 5, 7, 10, 12), 11),
    Case("gnmt", (2, 4, 6, 8), (1, 3, 5, 7, 10, 12), 11),
    Case("transformer", (2, 4, 6, 8), (1, 3, 5, 7, 10, 12), 11),
    Case("gpt", (1, 2, 4, 6), (3, 5, 7, 8, 9, 10), 9),
    Case("dcgan", (2, 4, 6, 8), (1, 3, 5, 7, 10, 12), 11),
)


def output_of(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def listed(sizes: Iterable[int]) -> str:
    return ",".join(map(str, sizes))


def real_peaks(entry: Path, sizes: list[int]) -> dict[int, int]:
    """Peaks of real iterations, bytes."""
    words = output_of(sys.executable, OBSERVE_PEAK, entry, *map(str, sizes)).split()
    return dict(zip(sizes, map(int, words), strict=True))


def largest_that_fits(entry: Path, limit: float, guess: int) -> int:
    """By bisection with real iterations. The guess only says where to begin."""
    peaks = real_peaks(entry, [size for size in (guess, guess + 1) if size > 0])

    def fits(size: int) -> bool:
        if size not in peaks:
            peaks.update(real_peaks(entry, [size]))
        return peaks[size] <= limit

    low, high, stride = max(1, guess), guess + 1, 1
    while low > 1 and not fits(low):
        low, high, stride = max(1, low - stride), low, 2 * stride
    while fits(high):
        low, high, stride = high, high + stride, 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def is_inside(estimate: dict[str, Any], real: float) -> bool:
    interval = estimate["interval"]
    return interval is not None and interval["low"] <= real and (interval["high"] is None or real <= interval["high"])


@dataclass
class Outcome:
    """Errors are parts of the real value; of throughput and of time they are the same but for the sign."""

    sizes: list[dict[str, Any]]
    aa_noise: float
    predicted_fit: int
    real_fit: int


def evaluate(binary: Path, case: Case, budget: float) -> Outcome:
    entry = ROOT / "examples" / case.example / "entry.py"
    shared = [entry, "--python", sys.executable, "--batch-sizes", listed(case.sampled), "--format", "json"]
    report = json.loads(
        output_of(
            *(binary, "profile", *shared, "--check-sizes", listed(case.checked)),
            *("--time-budget", str(budget), "--time-limit", "3600"),
        )
    )
    sizes = []
    for check in report["checks"]:
        time, peak = check["predicted"]["timeMs"], check["predicted"]["peakBytes"]
        sizes.append(
            {
                "batchSize": check["batchSize"],
                "extrapolated": check["extrapolated"],
                "time": time and check["timeMs"] / time["value"] - 1,  # of throughput: real B/ms against predicted B/ms
                "timeInside": time and is_inside(time, check["timeMs"]),
                "noise": check["aaNoise"],
                "memory": peak and peak["value"] / check["peakBytes"] - 1,
                "memoryInside": peak and is_inside(peak, check["peakBytes"]),
            }
        )
    peaks = real_peaks(entry, [case.limit_size, case.limit_size + 1])
    limit = sum(peaks.values()) // 2
    answer = json.loads(output_of(binary, "predict", *shared, "--memory", str(limit)))["answer"]
    predicted = answer["batchSize"] if answer else 0
    noise = report["models"]["time"]["aaNoise"]
    return Outcome(sizes, noise, predicted, largest_that_fits(entry, limit, predicted))


def percent(part: float | None) -> str:
    if not part:
        return "–" if part is None else "0"
    return f"{100 * part:+.1f}" if abs(part) >= 0.0005 else f"{100 * part:+.2g}"


def run(binary: Path, table: Callable[[list[str], list[list[str]]], None], budget: float) -> None:
    """Prints a row for each batch size, then one for each model."""
    outcomes = {}
    rows = []
    for case in CASES:
        outcome = outcomes[case.example] = evaluate(binary, case, budget)
        for size in outcome.sizes:
            rows.append(
                [
                    case.example,
                    f"{size['batchSize']}{' (beyond)' if size['extrapolated'] else ''}",
                    percent(size["time"]),
                    f"{100 * size['noise']:.1f}",
                    {True: "yes", False: "**no**", None: "–"}[size["timeInside"]],
                    percent(size["memory"]),
                    {True: "yes", False: "**no**", None: "–"}[size["memoryInside"]],
                ]
            )
        print(f"{case.example}: {len(outcome.sizes)} batch sizes checked", file=sys.stderr, flush=True)
    print("### Accuracy, by batch size\n")
    table(
        ["example", "batch size", "throughput off, %", "A/A noise there, %", "inside", "peak off, %", "inside"],
        rows,
    )
    print("### Accuracy, by model\n")
    summary = []
    for name, outcome in outcomes.items():
        times = [abs(size["time"]) for size in outcome.sizes if size["time"] is not None]
        memories = [abs(size["memory"]) for size in outcome.sizes if size["memory"] is not None]
        inside = [size["timeInside"] for size in outcome.sizes if size["timeInside"] is not None]
        summary.append(
            [
                name,
                f"{100 * mean(times):.1f} / {100 * max(times):.1f}",
                f"{100 * outcome.aa_noise:.1f}",
                f"{sum(inside)} of {len(inside)}",
                f"{100 * mean(memories):.3g} / {100 * max(memories):.3g}",
                f"{outcome.predicted_fit} / {outcome.real_fit}",
            ]
        )
    table(
        [
            "example",
            "throughput off, mean / worst, %",
            "A/A noise, %",
            "times inside their interval",
            "peak off, mean / worst, %",
            "largest that fits, predicted / real",
        ],
        summary,
    )
