"""`ridgeline profile` of scripts that compute no gradients: each call of their model is a step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ridgeline
from training_scripts import report_of, run, write

MODEL = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(256, 512)
        self.narrow = nn.Linear(512, 8)

    def forward(self, x):
        hidden = self.wide(x)
        return self.narrow(torch.relu(hidden))

"""

EVALUATION = (
    MODEL
    + """
def main():
    model = Net().eval()
    data = TensorDataset(torch.randn(32 * 400, 256), torch.randint(0, 8, (32 * 400,)))
    right = 0
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=32):
            logits = model(x)
            right += (logits.argmax(1) == y).sum().item()
    print("right", right)

main()
"""
)

GENERATION = (
    MODEL
    + """
model = Net().eval()
with torch.inference_mode():
    state = torch.randn(4, 256)
    for _ in range(400):
        state = state + model(state).mean()
"""
)

STOP = ("--stop", "--seconds", "0.3")


def line_of(source: str, words: str) -> int:
    return next(i for i, line in enumerate(source.splitlines(), 1) if words in line)


def lines_of(report: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {line["line"]: line for line in report["lines"] if line["file"] == "train.py"}


@pytest.mark.parametrize(("source", "samples"), [(EVALUATION, 32), (GENERATION, 4)], ids=["evaluation", "generation"])
def test_each_call_of_the_model_is_a_step(tmp_path: Path, source: str, samples: int) -> None:
    script = write(tmp_path, source)
    report = report_of(script, options=STOP)
    step = report["script"]["step"]
    assert (step["endsAt"], step["requested"]) == ("forward", False)
    assert report["entry"]["batchSize"] == samples
    lines = lines_of(report)
    wide = lines[line_of(source, "hidden = self.wide(x)")]
    assert wide["timeMs"]["self"] > 0 and wide["timeMs"]["backward"] == 0
    assert sum(line["timeMs"]["self"] for line in report["lines"]) <= report["iteration"]["timeMs"] * 1.001
    done = run(script, options=STOP)
    assert "is one call of the model, up to the next" in " ".join(done.stderr.split())


def test_calls_with_gradients_are_steps_where_that_is_asked_for(tmp_path: Path) -> None:
    source = GENERATION.replace("Net().eval()", "Net()").replace("with torch.inference_mode():", "if True:")
    script = write(tmp_path, source)
    assert "no process of the command took a step" in run(script, options=STOP).stderr
    report = report_of(script, options=("--step-boundary", "forward", *STOP))
    assert report["script"]["step"] | {"endsAt": "forward", "requested": True} == report["script"]["step"]
    assert report["entry"]["batchSize"] == 4


def test_an_evaluation_before_training_is_no_step(tmp_path: Path) -> None:
    source = EVALUATION.replace(
        'print("right", right)',
        """model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    while True:
        for x, y in DataLoader(data, batch_size=64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()""",
    )
    report = report_of(write(tmp_path, source), options=STOP)
    assert report["script"]["step"]["endsAt"] == "optimizer" and report["entry"]["batchSize"] == 64


def test_other_batch_sizes_are_those_of_the_loader(tmp_path: Path) -> None:
    report = report_of(write(tmp_path, EVALUATION), options=("--batch-sizes", "16,64", *STOP))
    assert [sample["batchSize"] for sample in report["models"]["time"]["samples"]] == [16, 32, 64]


def test_too_few_calls_are_said(tmp_path: Path) -> None:
    script = write(tmp_path, EVALUATION.replace("32 * 400", "32 * 5"))
    done = run(script, options=STOP)
    assert done.returncode != 0 and "calls of its model" in " ".join(done.stderr.split()), done.stderr


def test_what_was_measured_of_a_script_answers_later(tmp_path: Path) -> None:
    script = write(tmp_path, EVALUATION)
    asked = ("predict", script, "--batch-size", "48", "--python", PYTHON, "--format", "json")
    before = ridgeline(*asked, "--batch-sizes", "16,64", "--seconds", "0.3")
    after = ridgeline(*asked)
    assert (before.returncode, after.returncode) == (0, 0), before.stderr + after.stderr
    assert "no run may write files" in before.stderr and after.stderr == ""
    first, second = json.loads(before.stdout), json.loads(after.stdout)
    assert first["answer"] == second["answer"] and first["answer"]["batchSize"] == 48
