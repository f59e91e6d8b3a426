"""`ridgeline predict` and `devices` of a training script: what an entry point of the same step is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ridgeline

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.1)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = self.drop(torch.relu(self.norm(self.first(x)))).flatten(2).transpose(1, 2)
        return self.head(self.attention(x, x, x, need_weights=False)[0].mean(1))
"""

TRAIN = """\
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from net import Net

if sys.argv[1:] == ["wrong"]:
    sys.exit(3)
data = TensorDataset(torch.randn(128, 3, 12, 12), torch.randint(10, (128,)))
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(1000):
    for x, y in DataLoader(data, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""

ENTRY = """\
import torch
from torch import nn
from net import Net

def model_provider():
    return Net()

def input_provider(batch_size=32):
    return torch.randn(batch_size, 3, 12, 12), torch.randint(10, (batch_size,))

def iteration_provider(model):
    optimizer = torch.optim.AdamW(model.parameters())
    def iteration(x, y):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return iteration
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in (("net.py", NET), ("train.py", TRAIN), ("entry.py", ENTRY)):
        (folder / name).write_text(text)
    return folder


def asked(*arguments: str | Path) -> dict[str, Any]:
    done = ridgeline(*arguments, "--python", PYTHON, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_script_on_other_devices_is_the_step_of_its_entry_point(project: Path) -> None:
    """The same operations of CUDA at each batch size, without those that make the batches, and without the data. The
    data set has 128 samples: a step of 256 cannot be had."""
    question = ("--on", "a100,t4")
    script = asked("devices", project / "train.py", *question)
    entry = asked("devices", project / "entry.py", *question)
    assert script["batchSize"] == entry["batchSize"] == 32
    for one, other in zip(script["devices"], entry["devices"], strict=True):
        assert [step["batchSize"] for step in one["steps"]] == [32, 64, 128]
        for step, its in zip(one["steps"], other["steps"][:3], strict=True):
            assert step["operations"] == its["operations"]
            assert step["ms"] == its["ms"]
            assert step["peakBytes"] == pytest.approx(its["peakBytes"], rel=0.15)
            assert step["heldBytes"] == its["heldBytes"]


@pytest.mark.long
def test_what_makes_a_batch_of_a_script_fit(project: Path) -> None:
    options = ("--make-fit", "64", "--batch-sizes", "64", "--measure-seconds", "1", "--seconds", "0.3")
    made = asked("predict", project / "train.py", *options, "--memory", "3MiB")
    by_change = {tuple(row["change"]): row for row in made["changes"]}
    alone, autocast = by_change[()], by_change[("bf16-autocast",)]
    assert not alone["fits"] and autocast["applies"]
    assert autocast["peakBytes"] < alone["peakBytes"]
    assert "it changes the training loop itself" in by_change[("accumulate:2",)]["reason"]


def test_arguments_are_those_of_a_script(project: Path) -> None:
    for command in (("predict", "--batch-size", "8"), ("devices", "--on", "t4")):
        done = ridgeline(command[0], project / "entry.py", *command[1:], "--", "32")
        assert done.returncode == 2 and "are for training scripts" in done.stderr
    done = ridgeline("devices", project / "train.py", "--cluster", "cluster.toml")
    assert done.returncode == 2 and "`ridgeline init " in done.stderr


def test_a_script_that_takes_no_step_says_how_to_see_why(project: Path) -> None:
    done = ridgeline("predict", project / "train.py", "--batch-size", "8", "--python", PYTHON, "--", "wrong")
    assert done.returncode == 1
    assert "exit code 3 before it" in done.stderr and "train.py wrong` shows it" in done.stderr
