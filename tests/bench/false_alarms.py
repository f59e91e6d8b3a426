"""false_alarms.py COMPARISONS: how often `ridgeline compare` says that a step differs from itself, with real profiles.

One small step is profiled again and again; each profile is compared with the next. An alarm is a comparison that says
of anything, the step, a phase, a module or a line, that it differs in time or in memory. Prints the alarms, and how
many comparisons were undecided about the step. Fails above 5 %.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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


def ridgeline(*arguments: str | Path) -> str:
    done = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"ridgeline {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def profile(entry: Path, report: Path) -> None:
    sizes = ("--batch-sizes", "16", "--time-budget", "0.5")
    ridgeline("profile", entry, "--python", sys.executable, *sizes, "--format", "json", "--output", report)


def outcomes(comparison: dict[str, Any]) -> list[str]:
    """Of every figure: the step first."""
    parts = [{"time": comparison["step"], "memory": comparison["peak"]}]
    parts += [part for name in ("phases", "categories", "modules", "lines") for part in comparison[name]]
    return [part[kind]["outcome"] for part in parts for kind in ("time", "memory") if part[kind] is not None]


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    alarms = undecided = 0
    with tempfile.TemporaryDirectory() as folder:
        entry = Path(folder) / "entry.py"
        entry.write_text(ENTRY)
        before, after = Path(folder) / "before.json", Path(folder) / "after.json"
        profile(entry, before)
        for done in range(1, wanted + 1):
            profile(entry, after)
            found = outcomes(json.loads(ridgeline("compare", before, after, "--format", "json")))
            alarms += "differs" in found
            undecided += found[0] == "undecided"
            before, after = after, before
            print(f"{done} comparisons, {alarms} false alarms, {undecided} undecided about the step", flush=True)
    if alarms > 0.05 * wanted:
        sys.exit("more than 5 % false alarms")


if __name__ == "__main__":
    main()
