"""refine.py [--seed S] [--of A,B] [--sizes N]: another batch size by fitted models and by operations timed at it.

Draws examples, and of each batch sizes that the profile does not sample, by the seed. `ridgeline predict --refine`
answers both ways from one profile; then a profile runs the default batch size and the drawn one. All are compared as
ratios to the time of the default batch size in the same profile, so that a machine that has become slower cancels out.
"±" is half of the 95 % interval of the measured ratio: the noise.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))
_TOO_SLOW = {
    "resnet50",
    "vgg11",
    "inception",
    "densenet121",
    "bert",
    "gpt",
    "deepspeech",
}  # minutes a size on two cores


def ridgeline(*arguments: str) -> dict[str, Any]:
    command = [str(BINARY), *arguments, "--python", sys.executable, "--format", "json", "--timeout", "1200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def time_of(report: dict[str, Any], size: int) -> tuple[float, float]:
    """Milliseconds of that batch size in a report, and half of their interval."""
    sample = next(one for one in report["models"]["time"]["samples"] if one["batchSize"] == size)
    return sample["timeMs"], (sample["highMs"] - sample["lowMs"]) / 2


def compare(example: str, size: int, default: int) -> tuple[float, float]:
    """Prints a row; the errors of the fitted and of the refined figure."""
    entry = str(ROOT / "examples" / example / "entry.py")
    predicted = ridgeline("predict", entry, "--batch-size", str(size), "--refine", "--seconds", "4")
    before = ridgeline("predict", entry, "--batch-size", str(default))["answer"]["measured"]["timeMs"]
    run = ridgeline("profile", entry, "--batch-sizes", f"{default},{size}", "--seconds", "6")
    (base, base_noise), (true, noise) = time_of(run, default), time_of(run, size)
    ratio = true / base
    noise = (noise / true) + (base_noise / base)
    refined = predicted["refined"]["timeMs"]
    fitted = predicted["answer"]["timeMs"]
    errors = (fitted["value"] / before / ratio - 1, refined["value"] / before / ratio - 1)
    inside = refined["low"] / before <= ratio * (1 + noise) and ratio * (1 - noise) <= refined["high"] / before
    print(
        f"| {example} | {default} | {size} | {ratio:.3f} ± {noise:.1%} | {errors[0]:+.1%} | {errors[1]:+.1%} "
        f"| {'yes' if inside else 'no'} | {1 - predicted['refined']['measuredShare']:.0%} |",
        flush=True,
    )
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--examples", type=int, default=3)
    parser.add_argument("--sizes", type=int, default=2)
    parser.add_argument("--of", default="", help="names of examples, instead of drawing them: A,B")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    print("| example | default | size | measured ratio | fitted | refined | inside | not timed |")
    print("|---|---:|---:|---:|---:|---:|---|---:|")
    errors = []
    drawn = draw.sample([name for name in EXAMPLES if name not in _TOO_SLOW], options.examples)
    for example in options.of.split(",") if options.of else drawn:
        report = ridgeline("profile", str(ROOT / "examples" / example / "entry.py"), "--seconds", "1")
        default = report["entry"]["batchSize"]
        sampled = {one["batchSize"] for one in report["models"]["time"]["samples"]}
        sizes = [n for n in range(max(2, default // 2), default * 2) if n not in sampled]
        errors += [compare(example, size, default) for size in sorted(draw.sample(sizes, options.sizes))]
    for name, which in (("fitted", 0), ("refined", 1)):
        found = [abs(pair[which]) for pair in errors]
        print(f"{name}: median error {statistics.median(found):.1%}, largest {max(found):.1%}")


if __name__ == "__main__":
    main()
