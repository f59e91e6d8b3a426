"""what_if.py [--examples A,B] [--changes X,Y] [--try-seconds S]: predicted against tried, on the examples.

For each example, `ridgeline what-if --try`: what each change, and all of them together, is predicted to bring, and what
it brought when it was timed in turns with the unchanged step. Beside it stands the noise: the 95 % interval of what was
tried. Prints a table and, of the changes that were both predicted and tried: the error of the speed-up, whether the
sign is right beyond 5 % and the noise, and whether the tried speed-up lies in the predicted interval, widened by the
noise.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))
# All that are predicted and can be tried without naming a module. torch.compile is not predicted, and takes minutes.
CHANGES = ("bf16-autocast", "channels-last", "foreach-optimizer", "fused-optimizer", "accumulate:2", "checkpoint")
MATTERS = 0.05


@dataclass(frozen=True)
class Pair:
    """A change of an example that was predicted and tried."""

    example: str
    change: str
    predicted: dict[str, float]
    tried: dict[str, float]
    peaks: tuple[int | None, int, int, int]  # predicted; unchanged; tried unchanged; tried changed

    @property
    def error(self) -> float:
        return self.predicted["value"] / self.tried["value"] - 1

    @property
    def noise(self) -> float:
        return (self.tried["high"] - self.tried["low"]) / 2 / self.tried["value"]

    @property
    def matters(self) -> bool:
        return abs(self.tried["value"] - 1) > max(MATTERS, self.noise)

    @property
    def sign_is_right(self) -> bool:
        return (self.predicted["value"] > 1) == (self.tried["value"] > 1)

    @property
    def is_inside(self) -> bool:
        return self.predicted["low"] <= self.tried["high"] and self.tried["low"] <= self.predicted["high"]

    @property
    def memory_error(self) -> float | None:
        predicted, unchanged, tried_unchanged, tried_changed = self.peaks
        if predicted is None:
            return None
        return ((predicted - unchanged) - (tried_changed - tried_unchanged)) / tried_changed


def ask(
    example: str, changes: list[str], try_time: float, *, entry: Path | None = None, options: Sequence[str] = ()
) -> dict[str, Any] | None:
    """`entry`: in place of the example's."""
    path = entry or ROOT / "examples" / example / "entry.py"
    command = [str(BINARY), "what-if", str(path), "--try", "--format", "json", *options]
    command += ["--python", sys.executable, "--seconds", "4", "--try-seconds", str(try_time), "--timeout", "1200"]
    command += [part for change in changes for part in ("--change", change)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{example}: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return None
    return json.loads(done.stdout)


def pairs_of(example: str, answer: dict[str, Any]) -> list[Pair]:
    return [
        Pair(
            example,
            "+".join(row["change"]),
            row["predicted"]["speedUp"],
            row["tried"]["speedUp"],
            (
                row["predicted"]["peakBytes"],
                answer["peakBytes"],
                row["tried"]["unchangedPeakBytes"],
                row["tried"]["changedPeakBytes"],
            ),
        )
        for row in answer["changes"]
        if row["predicted"] and row["tried"]
    ]


def percent(value: float) -> str:
    return f"{100 * value:+.1f} %"


def show(pair: Pair) -> None:
    memory = pair.memory_error
    print(
        f"| {pair.example} | {pair.change} | {pair.predicted['value']:.2f} "
        f"({pair.predicted['low']:.2f} to {pair.predicted['high']:.2f}) | {pair.tried['value']:.2f} "
        f"± {100 * pair.noise:.1f} % | {percent(pair.error)} | {'yes' if pair.is_inside else 'no'} | "
        f"{'–' if memory is None else percent(memory)} |",
        flush=True,
    )


def summary(pairs: list[Pair]) -> None:
    errors = sorted(abs(pair.error) for pair in pairs)
    matter = [pair for pair in pairs if pair.matters]
    right = sum(pair.sign_is_right for pair in matter)
    inside = sum(pair.is_inside for pair in pairs)
    ninetieth = errors[min(len(errors) - 1, round(0.9 * (len(errors) - 1)))]
    print(
        f"\n{len(pairs)} pairs: median error {100 * statistics.median(errors):.1f} %, ninetieth percentile "
        f"{100 * ninetieth:.1f} %; sign right in {right} of {len(matter)} beyond 5 % and the noise; "
        f"{inside} of {len(pairs)} inside the interval"
    )


def run(examples: list[str], changes: list[str], try_time: float) -> None:
    print("| example | change | predicted | tried | error | inside | peak memory |\n|---|---|---|---|---|---|---|")
    pairs: list[Pair] = []
    for example in examples:
        answer = ask(example, changes, try_time)
        for pair in pairs_of(example, answer) if answer else []:
            pairs.append(pair)
            show(pair)
        for warning in answer["warnings"] if answer else []:
            print(f"{example}: {warning}", flush=True)
    if pairs:
        summary(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", default=",".join(EXAMPLES))
    parser.add_argument("--changes", default=",".join(CHANGES))
    parser.add_argument("--try-seconds", type=float, default=4.0)
    options = parser.parse_args()
    run(options.examples.split(","), options.changes.split(","), options.try_time)


if __name__ == "__main__":
    main()
