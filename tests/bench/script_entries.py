"""Training scripts against entry points of the same step: `./dev bench script-entries`.

The script of an example takes its batches from a data loader, and trains with the functions of the entry point. The
scripts of tests/editors/walk are as users write them, and `ridgeline init` writes the entry point of each. Both are
profiled, and asked for a batch size that neither sampled, which is then measured, and for changes, which are tried.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accuracy import MODELS_PYTHON

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PROJECTS = ROOT / "tests" / "editors" / "walk"
SLOWEST_MS = 300  # of a step: slower examples take minutes to try a change
PYTHON = MODELS_PYTHON if MODELS_PYTHON.exists() else sys.executable
LEFT_OUT = {"compiled"}  # each changed step is compiled for a minute
CHANGES = ("foreach-optimizer", "fused-optimizer", "bf16-autocast", "channels-last", "checkpoint")

SCRIPT = """\
import inspect
import sys
sys.path.insert(0, {folder!r})
import entry
from torch.utils.data import DataLoader, TensorDataset

size = inspect.signature(entry.input_provider).parameters["batch_size"].default
size = int(sys.argv[1]) if sys.argv[1:] else size
inputs = entry.input_provider(6 * size)
assert all(one.shape[0] == 6 * size for one in inputs), "no samples"
model = entry.model_provider()
step = entry.iteration_provider(model)
while True:
    for batch in DataLoader(TensorDataset(*inputs), batch_size=size, drop_last=True):
        step(*batch)
"""

STEP_HEAD = [
    "example",
    "batch",
    "entry point, ms",
    "script, ms",
    "of it, loading, ms",
    "ratio without that",
    "intervals meet",
]
STEP_HEAD += ["peak, ratio"]
SIZE_HEAD = ["asked of", "example", "batch", "predicted, ms", "interval", "measured, ms", "inside", "peak, error"]
CHANGE_HEAD = ["asked of", "example", "change", "predicted", "tried", "inside"]


@dataclass
class Rows:
    steps: list[list[str]] = field(default_factory=list)
    sizes: list[list[str]] = field(default_factory=list)
    changes: list[list[str]] = field(default_factory=list)

    def summary(self) -> str:
        def inside(rows: list[list[str]], of: str, column: int) -> str:
            own = [row[column] for row in rows if row[0] == of]
            return f"{own.count('yes')} of {len(own)}"

        met = [row[6] for row in self.steps].count("yes")
        lines = [f"Steps whose intervals meet: {met} of {len(self.steps)}."]
        lines += [
            f"Inside their intervals, of the {name}: {inside(self.sizes, name, 6)} batch sizes, "
            f"{inside(self.changes, name, 5)} changes."
            for name in ("entry point", "script")
        ]
        return "\n".join(lines)


@dataclass
class Pair:
    """A script, and the entry point of its step."""

    name: str
    folder: Path  # for what is made
    root: Path  # of the project
    script: Path
    entry: Path

    def at(self, size: int) -> list[str | Path]:
        """The script with another batch size: by its argument, or by the number in a copy."""
        if self.root != self.folder / self.name:
            return [self.script, str(size)]
        copy = self.folder / "other" / self.name
        shutil.copytree(self.root, copy)
        script = copy / self.script.name
        script.write_text(BATCH_SIZE.sub(rf"\g<1>{size}", script.read_text(), count=1))
        return [script]


# The number behind the batch size of the projects.
BATCH_SIZE = re.compile(
    r'(batch_size = |batch_size=|batch_size: int = field\(default=|--batch-size", type=int, default=)\d+'
)


def _pair(binary: Path, name: str, folder: Path) -> Pair:
    if (EXAMPLES / name / "entry.py").exists():
        script = folder / "train.py"
        script.write_text(SCRIPT.format(folder=str(EXAMPLES / name)))
        return Pair(name, folder, EXAMPLES / name, script, EXAMPLES / name / "entry.py")
    root = folder / name
    shutil.copytree(PROJECTS / name, root)
    written = _run(binary, root, "init", "train.py")
    assert written.returncode == 0, written.stderr
    return Pair(name, folder, root, root / "train.py", root / "entry.py")


def run(binary: Path, examples: int, seed: int) -> Rows:
    """So many examples and projects, chosen by the seed."""
    names = sorted({path.parent.name for path in EXAMPLES.glob("*/entry.py")} - LEFT_OUT)
    names += sorted(path.parent.name for path in PROJECTS.glob("*/train.py"))
    random.Random(seed).shuffle(names)
    rows = Rows()
    for name in names:
        if len(rows.steps) < examples:
            with tempfile.TemporaryDirectory() as folder:
                before = len(rows.steps), len(rows.sizes), len(rows.changes)
                _example(binary, _pair(binary, name, Path(folder)), rows)
                print(f"{name}: {len(rows.steps)} of {examples}", file=sys.stderr)
                for kind, start in zip((rows.steps, rows.sizes, rows.changes), before, strict=True):
                    for row in kind[start:]:  # a long run that is ended has not measured in vain
                        print("  " + " | ".join(row), file=sys.stderr)
    return rows


def _example(binary: Path, pair: Pair, rows: Rows) -> None:
    name, folder, script, entry = pair.name, pair.folder, pair.script, pair.entry
    place = ("--python", PYTHON, "--project-root", pair.root)
    quick = _profiled(binary, folder, "profile", *place, "--stop", "--seconds", "0.2", script)
    if quick is None or quick["iteration"]["timeMs"] > SLOWEST_MS:
        time = "its inputs are no samples" if quick is None else f"{quick['iteration']['timeMs']:.0f} ms"
        print(f"{name}: left out, {time}", file=sys.stderr)
        return
    whole = _profiled(binary, folder, "profile", *place, "--batch-sizes", "auto", "--stop", "--seconds", "3", script)
    assert whole is not None, name
    size = whole["entry"]["batchSize"]
    asked = max(size + 1, size * 5 // 4)
    mine = _profiled(binary, folder, "profile", *place, "--check-sizes", str(asked), entry)
    assert mine is not None, name
    one, other = mine["iteration"], whole["iteration"]
    peaks = [report["memory"]["peakBytes"] - report["memory"]["byCategory"]["inputs"] for report in (mine, whole)]
    loading = whole["script"]["loading"]["waitMs"]  # an entry point is given its inputs
    ratio = (other["timeMs"] - loading) / one["timeMs"]
    rows.steps.append(
        [name, str(size), _time(one), _time(other), f"{loading:.3g}", f"{ratio:.3f}", _met(one, other, loading)]
        + [f"{peaks[1] / peaks[0]:.4f}"]
    )
    for check in mine["checks"]:  # none where that size did not run
        rows.sizes.append(["entry point", name, *_size_row(check["predicted"], check, check["peakBytes"])])
    predicted = _answered(binary, folder, "predict", script, "--batch-size", str(asked))["answer"]
    truth = _profiled(binary, folder, "profile", *place, "--stop", "--seconds", "3", *pair.at(asked))
    assert truth is not None, name
    # The data of the script grow with its argument; the batch size alone leaves them as they were.
    grown = truth["memory"]["byCategory"]["inputs"] - predicted["byCategory"]["inputs"]
    rows.sizes.append(
        ["script", name, *_size_row(predicted, truth["iteration"], truth["memory"]["peakBytes"] - grown, asked)]
    )
    asks = [word for change in CHANGES for word in ("--change", change)]
    for what, file in (("entry point", entry), ("script", script)):
        answer = _answered(
            binary, folder, "what-if", file, *place, "--seconds", "3", *asks, "--try", "--try-seconds", "2"
        )
        for row in answer["changes"]:
            if row["predicted"] is not None and row["tried"] is not None and len(row["change"]) == 1:
                rows.changes.append([what, name, row["change"][0], *_change_row(row)])


def _change_row(row: dict[str, Any]) -> list[str]:
    guess, real = row["predicted"]["speedUp"], row["tried"]["speedUp"]
    inside = guess["low"] <= real["high"] and real["low"] <= guess["high"]
    return [*(f"{one['value']:.2f} ({one['low']:.2f} – {one['high']:.2f})" for one in (guess, real)), _yes(inside)]


def _size_row(predicted: dict[str, Any], real: dict[str, Any], peak: float, size: int = 0) -> list[str]:
    time, interval = predicted["timeMs"]["value"], predicted["timeMs"]["interval"]
    low, high = (interval["low"], interval["high"] or math.inf) if interval is not None else (math.nan, math.nan)
    return [
        str(size or real["batchSize"]),
        f"{time:.4g}",
        f"{low:.4g} – {high:.4g}",
        f"{real['timeMs']:.4g}",
        _yes(low <= real["highMs"] and real["lowMs"] <= high),
        f"{100 * (predicted['peakBytes']['value'] / peak - 1):+.2f} %",
    ]


def _time(iteration: dict[str, Any]) -> str:
    return f"{iteration['timeMs']:.4g} ({iteration['lowMs']:.4g} – {iteration['highMs']:.4g})"


def _met(one: dict[str, Any], other: dict[str, Any], loading: float) -> str:
    return _yes(one["lowMs"] <= other["highMs"] - loading and other["lowMs"] - loading <= one["highMs"])


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def _run(binary: Path, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    words = [str(binary), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def _profiled(binary: Path, folder: Path, command: str, *arguments: str | Path) -> dict[str, Any] | None:
    """None: it failed, as for an example whose inputs are no samples."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = _run(binary, folder, command, "--format", "json", "--output", report, *arguments)
    if not report.exists():
        print(done.stderr[-400:], file=sys.stderr)
        return None
    return json.loads(report.read_text())


def _answered(binary: Path, folder: Path, *arguments: str | Path) -> Any:
    done = _run(binary, folder, *arguments, "--format", "json")
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)
