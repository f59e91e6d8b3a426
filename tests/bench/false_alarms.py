"""false_alarms.py [compare|check] N: how often a step is said to differ from itself, with real profiles.

One small step is profiled again and again. `compare`: each profile is compared with the next; an alarm is a comparison
that says of anything, the step, a phase, a module or a line, that it differs in time or in memory. `check`: each
profile is a baseline than which the step may not be slower; an alarm is a budget that is said to be exceeded. Prints
the alarms, and how many were undecided about the step. Fails above 5 %.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
ENTRY = """\
import torch
from torch import nn


def model_provider():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))


def input_provider(batch_size=16):
    return torch.randn(batch_size, 64), torch.zeros(batch_size, 8)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def iteration(inputs, targets):
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = (outputs - targets).square().mean()
        loss.backward()
        optimizer.step()

    return iteration
"""


BUDGET = """\
[tool.ridgeline.budgets."entry.py"]
baseline = "baseline.json"
max-slowdown = "0 %"
"""
EXCEEDED, UNDECIDED = 1, 4  # exit statuses of `ridgeline check`


def run(*arguments: str | Path, expected: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode not in expected:
        sys.exit(f"ridgeline {' '.join(map(str, arguments))}: {done.stderr}")
    return done


def profile(entry: Path, report: Path) -> None:
    sizes = ("--batch-sizes", "16", "--seconds", "0.5")
    run("profile", entry, "--python", sys.executable, *sizes, "--format", "json", "--output", report)


def outcomes(comparison: dict[str, Any]) -> list[str]:
    """The outcomes of every figure, the step first."""
    parts = [{"time": comparison["step"], "memory": comparison["peak"]}]
    parts += [part for name in ("phases", "categories", "modules", "lines") for part in comparison[name]]
    return [part[kind]["outcome"] for part in parts for kind in ("time", "memory") if part[kind] is not None]


def compared(folder: Path, entry: Path) -> Iterator[tuple[bool, bool]]:
    """For each comparison, whether it is an alarm, and whether it is undecided about the step."""
    before, after = folder / "before.json", folder / "after.json"
    profile(entry, before)
    while True:
        profile(entry, after)
        found = outcomes(json.loads(run("compare", before, after, "--format", "json").stdout))
        yield "differs" in found, found[0] == "undecided"
        before, after = after, before


def checked(folder: Path, entry: Path) -> Iterator[tuple[bool, bool]]:
    """The same of each check."""
    (folder / "pyproject.toml").write_text(BUDGET)
    brief = ("--python", sys.executable, "--seconds", "0.5", "--max-seconds", "3")
    while True:
        profile(entry, folder / "baseline.json")
        done = run("check", entry, *brief, "--project-root", folder, expected=(0, EXCEEDED, UNDECIDED))
        yield done.returncode == EXCEEDED, done.returncode == UNDECIDED


def main() -> None:
    kind, wanted = sys.argv[1], int(sys.argv[2])
    alarms = undecided = 0
    with tempfile.TemporaryDirectory() as folder:
        entry = Path(folder) / "entry.py"
        entry.write_text(ENTRY)
        found = {"compare": compared, "check": checked}[kind](Path(folder), entry)
        for done, (is_alarm, is_undecided) in enumerate(itertools.islice(found, wanted), 1):
            alarms += is_alarm
            undecided += is_undecided
            print(f"{done} of {wanted}: {alarms} false alarms, {undecided} undecided about the step", flush=True)
    if alarms > 0.05 * wanted:
        sys.exit("more than 5 % false alarms")


if __name__ == "__main__":
    main()
