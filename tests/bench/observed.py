"""`./dev bench observations`: which of the twelve observations are true of each example."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))
# With options of `ridgeline profile`: where memory is short, the largest batch that fits is far from saturation; and
# batches so large that throughput falls.
CASES = [
    *((name, ()) for name in EXAMPLES),
    ("custom_function", ("--batch-sizes", "16,24,32")),
    ("vgg11", ("--memory-limit", "3GiB")),
]
SIGNS = {"holds": "yes", "doesNotHold": "no", "unknown": "?", "notApplicable": "–"}


def rows(binary: Path, seconds: float, cases: list[tuple[str, tuple[str, ...]]]) -> list[list[str]]:
    """The verdicts of observations 1 to 12 on each example. Each is profiled with a time budget of `seconds`."""
    return [[" ".join((name, *options)), *verdicts(profile(binary, name, seconds, options))] for name, options in cases]


def verdicts(report: dict[str, Any]) -> list[str]:
    return [SIGNS[observation["verdict"]] for observation in report["observations"]]


def profile(binary: Path, name: str, seconds: float, options: tuple[str, ...]) -> dict[str, Any]:
    command = [binary, "profile", ROOT / "examples" / name / "entry.py", "--format", "json"]
    command += ["--python", ROOT / ".venv" / "bin" / "python", "--seconds", str(seconds), *options]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)
