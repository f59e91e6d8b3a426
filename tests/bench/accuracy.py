"""Predictions against real runs: what `./dev bench accuracy` prints.

For each model a profile with default options tells which batch sizes it samples. A seed draws others, inside of that
range and up to an octave beyond it, and a second profile runs them as well, in turns with the sampled ones, so that a
machine that changes its speed changes it for all; `--check-sizes` keeps them out of the models. Then the largest batch
size that fits into a memory limit is predicted from the same profile, and found by bisection: real iterations, counted
by torch.profiler and not by us.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from accuracy_figures import Figure, coverage, draw_sizes, figure_of, fraction, mean_and_worst, typical_width

ROOT = Path(__file__).resolve().parents[2]
OBSERVE_PEAK = ROOT / "tests" / "integration" / "observe_peak.py"
MODELS = ROOT / "tests" / "bench" / "models"
MODELS_PYTHON = ROOT / "build" / "bench-venv" / "bin" / "python"  # with tests/bench/requirements.txt

Table = Callable[[list[str], list[list[str]]], None]


@dataclass(frozen=True)
class Model:
    name: str
    entry: Path
    python: Path


def examples(*names: str) -> list[Model]:
    return [Model(name, ROOT / "examples" / name / "entry.py", Path(sys.executable)) for name in names]


def library_models(*names: str) -> list[Model]:
    """Built with libraries that are installed for this benchmark alone."""
    return [Model(name, MODELS / name / "entry.py", MODELS_PYTHON) for name in names]


CASES = {
    model.name: model
    for model in (
        *examples("mlp", "resnet50", "vgg11", "gnmt", "transformer", "gpt", "dcgan"),
        *library_models("hf_bert", "hf_llama", "peft_lora", "lightning_cnn", "pyg_gcn"),
    )
}


@dataclass(frozen=True)
class Options:
    models: tuple[str, ...]  # of CASES
    seed: int
    sizes: int  # checked inside of the sampled range, and as many outside
    seconds: float  # time budget of the profile with the checks
    figures: Path | None  # keeps what was measured; what it holds of this seed is not measured again


@dataclass
class Outcome:
    """What one model gave."""

    sampled: list[int]
    figures: list[Figure]
    predicted_fit: int
    real_fit: int
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)  # checked sizes that did not run, and why


def output_of(*command: str | Path) -> str:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}  # weights are random: nothing is to be downloaded
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def listed(sizes: Iterable[int]) -> str:
    return ",".join(map(str, sizes))


def real_peaks(model: Model, sizes: list[int]) -> dict[int, int]:
    """Peaks of real iterations, bytes."""
    counts = output_of(model.python, OBSERVE_PEAK, model.entry, *map(str, sizes)).splitlines()[-1].split()
    return dict(zip(sizes, map(int, counts), strict=True))


def largest_that_fits(model: Model, limit: float, guess: int, peaks: dict[int, int]) -> int:
    """By bisection with real iterations. The guess, and peaks that are known, only say where to begin."""
    if guess > 0 and guess + 1 not in peaks:
        peaks.update(real_peaks(model, [guess, guess + 1]))

    def fits(size: int) -> bool:
        if size not in peaks:
            peaks.update(real_peaks(model, [size]))
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


def sampled_sizes(report: dict[str, Any]) -> list[int]:
    return [sample["batchSize"] for sample in report["models"]["time"]["samples"]]


def evaluate(binary: Path, model: Model, options: Options) -> Outcome:
    began = time.monotonic()
    shared = [model.entry, "--python", model.python, "--format", "json"]
    profile = [binary, "profile", *shared, "--timeout", "3600"]
    seed = f"{options.seed}/{model.name}"
    inside, outside = draw_sizes(seed, sampled_sizes(json.loads(output_of(*profile))), options.sizes)
    checks = ["--check-sizes", listed(inside + outside), "--seconds", str(options.seconds)]
    report = json.loads(output_of(*profile, *checks))
    figures = [figure_of(check, report["models"]) for check in report["checks"]]
    failed = [
        f"{skipped['batchSize']}: {skipped['message']}"
        for skipped in report.get("skipped", [])
        if skipped["batchSize"] in inside + outside
    ]
    limit_size = random.Random(seed).choice(outside or inside)  # the limit lies between its peak and the next one's
    peaks = real_peaks(model, [limit_size, limit_size + 1])
    limit = sum(peaks.values()) // 2
    answer = json.loads(output_of(binary, "predict", *shared, "--memory", str(limit)))["answer"]
    predicted = answer["batchSize"] if answer else 0
    real = largest_that_fits(model, limit, predicted, peaks)
    return Outcome(sampled_sizes(report), figures, predicted, real, time.monotonic() - began, failed)


# ---- figures that were measured before -------------------------------------------------------------------------------


def read_outcomes(options: Options) -> dict[str, Outcome]:
    """What was kept of the same seed, number of sizes and time budget."""
    if options.figures is None or not options.figures.exists():
        return {}
    kept = json.loads(options.figures.read_text())
    if kept["options"] != kept_options(options):
        sys.exit(f"{options.figures} holds figures of {kept['options']}: measure into another file, or delete it.")
    return {
        name: Outcome(**{**outcome, "figures": [Figure(**figure) for figure in outcome["figures"]]})
        for name, outcome in kept["models"].items()
    }


def write_outcomes(options: Options, outcomes: dict[str, Outcome]) -> None:
    if options.figures is not None:
        kept = {
            "options": kept_options(options),
            "models": {name: asdict(outcome) for name, outcome in outcomes.items()},
        }
        options.figures.write_text(json.dumps(kept, indent=1) + "\n")


def kept_options(options: Options) -> dict[str, Any]:
    return {"seed": options.seed, "sizes": options.sizes, "seconds": options.seconds}


# ---- tables ----------------------------------------------------------------------------------------------------------


def percent(part: float | None) -> str:
    if not part:
        return "–" if part is None else "0"
    return f"{100 * part:+.1f}" if abs(part) >= 0.0005 else f"{100 * part:+.2g}"


def held(inside: bool | None) -> str:
    return {True: "yes", False: "**no**", None: "–"}[inside]


def print_sizes(table: Table, outcomes: dict[str, Outcome]) -> None:
    """A row for each batch size."""
    rows = []
    for name, outcome in outcomes.items():
        for figure in sorted(outcome.figures, key=lambda figure: figure.batch_size):
            rows.append(
                [
                    name,
                    f"{figure.batch_size}{'' if figure.place == 'inside' else f' ({figure.place})'}",
                    f"{figure.real_ms:.3g}",
                    percent(figure.time),
                    f"{100 * figure.noise:.1f}",
                    percent(figure.time_beyond_noise).lstrip("+"),
                    "–" if figure.time_width is None else f"±{100 * figure.time_width:.0f}",
                    held(figure.time_held),
                    percent(figure.memory),
                    held(figure.memory_held),
                ]
            )
    print("### Accuracy, by batch size\n")
    table(
        ["model", "batch size", "real, ms", "throughput off, %", "A/A noise there, %", "beyond noise, %"]
        + ["interval, %", "holds", "peak off, %", "holds"],
        rows,
    )


def summary_row(name: str, place: str, figures: list[Figure]) -> list[str]:
    here = [figure for figure in figures if figure.place == place]
    return [
        name,
        place,
        mean_and_worst(figure.time for figure in here),
        mean_and_worst(figure.time_beyond_noise for figure in here),
        mean_and_worst(figure.noise for figure in here),
        fraction(figure.time_held for figure in here),
        typical_width(here),
    ]


def print_models(table: Table, outcomes: dict[str, Outcome]) -> None:
    """Two rows for each model: inside of the sampled range, and outside of it."""
    every = [figure for outcome in outcomes.values() for figure in outcome.figures]
    rows = [
        summary_row(name, place, outcome.figures)
        for name, outcome in outcomes.items()
        for place in ("inside", "outside")
    ]
    rows += [summary_row("**all**", place, every) for place in ("inside", "outside")]
    print("### Accuracy of throughput, by model\n")
    table(
        ["model", "where", "off, mean / worst, %", "beyond noise, mean / worst, %", "A/A noise, mean / worst, %"]
        + ["intervals that hold", "their typical width, %"],
        rows,
    )
    print("### Accuracy of memory, by model\n")
    table(
        ["model", "sampled sizes", "exact to the byte", "off, mean / worst, %", "intervals that hold"]
        + ["largest that fits, predicted / real", "measured in, s"],
        [
            [
                name,
                listed(outcome.sampled),
                fraction(None if figure.memory is None else figure.memory == 0 for figure in outcome.figures),
                mean_and_worst((figure.memory for figure in outcome.figures), digits=2),
                fraction(figure.memory_held for figure in outcome.figures),
                f"{outcome.predicted_fit} / {outcome.real_fit}",
                f"{outcome.seconds:.0f}",
            ]
            for name, outcome in outcomes.items()
        ],
    )


def print_coverage(outcomes: dict[str, Outcome]) -> None:
    every = [figure for outcome in outcomes.values() for figure in outcome.figures]
    for place in ("inside", "outside", "beyond"):
        here = [figure for figure in every if figure.place == place]
        if here:
            silent = sum(figure.time is None for figure in here)
            print(f"- Times {place}: {coverage(figure.time_held for figure in here)}; {silent} without a prediction.")
    print(f"- Times at all sizes: {coverage(figure.time_held for figure in every)}.")
    print(f"- Likewise, beyond the A/A noise: {coverage(figure.time_held_beyond_noise for figure in every)}.")
    print(f"- Peaks at all sizes: {coverage(figure.memory_held for figure in every)}.\n")
    for name, outcome in outcomes.items():
        for failure in outcome.failed:
            print(f"- {name} did not run at {failure}")


def run(binary: Path, table: Table, options: Options) -> None:
    """Prints a row for each batch size, two for each model, and how many intervals held."""
    if not all(CASES[name].python.exists() for name in options.models):
        sys.exit(f"{MODELS_PYTHON} is missing: `./dev bench accuracy` installs it")
    outcomes = read_outcomes(options)
    for name in options.models:
        if name in outcomes:
            continue
        outcomes[name] = evaluate(binary, CASES[name], options)
        write_outcomes(options, outcomes)
        print(f"{name}: {len(outcomes[name].figures)} sizes in {outcomes[name].seconds:.0f} s", file=sys.stderr)
    total = sum(outcome.seconds for outcome in outcomes.values())
    print(
        f"Seed {options.seed}: up to {options.sizes} batch sizes inside of the sampled range and as many outside, "
        f"{options.seconds:g} s of time budget for each model, {total / 60:.0f} minutes in all.\n"
    )
    print_sizes(table, outcomes)
    print_models(table, outcomes)
    print_coverage(outcomes)
