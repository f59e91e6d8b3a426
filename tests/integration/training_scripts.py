"""Training scripts and how the tests of `ridgeline profile` run them."""

from __future__ import annotations

import json
import subprocess
import textwrap
from pathlib import Path
from typing import Any

from conftest import PYTHON, ridgeline

SINGLE = {"OMP_NUM_THREADS": "1"}

TRAIN = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 256)
        self.out = nn.Linear(256, 8)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        for _ in range(200):
            model(data)
    model.train()


def train(model, loader, optimizer):
    done = 0
    while True:
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            done += 1
            if done == STEPS:
                return
        evaluate(model, x)


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(640, 64), torch.randint(0, 8, (640,)))
    model = Net()
    train(model, DataLoader(data, batch_size=32), torch.optim.Adam(model.parameters()))
    print("weights", sum(p.double().sum().item() for p in model.parameters()).hex())


if __name__ == "__main__":
    main()
"""


def write(folder: Path, text: str, name: str = "train.py") -> Path:
    script = folder / name
    script.write_text(textwrap.dedent(text))
    return script


def run(script: Path, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return ridgeline("profile", "--python", PYTHON, *options, script, *arguments, **SINGLE)


def report_of(script: Path, *arguments: str, options: tuple[str, ...] = ()) -> dict[str, Any]:
    file = script.parent / "report.json"
    done = run(script, *arguments, options=("--format", "json", "--output", str(file), *options))
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text())


def line(report: dict[str, Any], number: int) -> dict[str, Any]:
    return next(one for one in report["lines"] if one["line"] == number)


def number_of(script: Path, mark: str) -> int:
    return next(i for i, text in enumerate(script.read_text().splitlines(), 1) if mark in text)
