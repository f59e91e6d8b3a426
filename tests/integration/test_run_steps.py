"""Where the steps of a script end, and what lies between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from training_scripts import TRAIN, line, number_of, report_of, run, write

STOP = ("--stop", "--seconds", "1")

ACCUMULATION = """
import torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(8192, 64)), batch_size=8)
for epoch in range(1000):
    for i, (x,) in enumerate(loader):
        (model(x).square().mean() / 4).backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
"""

TWO_OPTIMIZERS = """
import torch
one, two = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
optimizers = [torch.optim.SGD(model.parameters(), lr=1e-3) for model in (one, two)]
while True:
    for model, optimizer in zip((one, two), optimizers):
        optimizer.zero_grad()
        model(torch.randn(16, 64)).square().mean().backward()
        optimizer.step()
"""

WITHOUT_OPTIMIZER = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64))

def update(loss):
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 1e-3 * parameter.grad
    model.zero_grad()

def train():
    while True:
        x = torch.randn(32, 64)
        update((model(x) - x).square().mean())

train()
"""


def test_the_optimizers_in_turn_are_one_step_unless_asked_otherwise(tmp_path: Path) -> None:
    script = write(tmp_path, TWO_OPTIMIZERS)
    found = report_of(script, options=STOP)
    assert found["script"]["step"] == {"endsAt": "optimizer", "requested": False, "optimizers": [1, 2], "line": None}
    assert line(found, number_of(script, "backward()"))["calls"] == 2
    asked = report_of(script, options=("--step-boundary", "optimizer", *STOP))
    assert asked["script"]["step"]["requested"]
    assert line(asked, number_of(script, "backward()"))["calls"] == 1


def test_a_step_for_each_batch(tmp_path: Path) -> None:
    script = write(tmp_path, ACCUMULATION)
    report = report_of(script, options=("--step-boundary", "dataloader", *STOP))
    assert report["script"]["step"]["endsAt"] == "dataLoader"
    assert report["entry"]["batchSize"] == 8
    assert line(report, number_of(script, "backward()"))["calls"] == 1


def test_a_step_for_each_time_that_a_line_runs(tmp_path: Path) -> None:
    """For a script that updates its parameters itself: nothing else would say where a step ends."""
    script = write(tmp_path, WITHOUT_OPTIMIZER)
    number = number_of(script, "x = torch.randn")
    report = report_of(script, options=("--step-boundary", f"{script}:{number}", *STOP))
    step = report["script"]["step"]
    assert (step["endsAt"], step["line"]) == ("line", {"file": "train.py", "line": number})
    assert report["entry"]["batchSize"] == 32
    total = sum(one["timeMs"]["self"] for one in report["lines"]) + sum(one["timeMs"] for one in report["other"])
    assert total == pytest.approx(report["iteration"]["timeMs"], rel=1e-3)
    assert {number_of(script, "update((model(x)"), number_of(script, "parameter -=")} <= {
        one["line"] for one in report["lines"]
    }


def test_a_line_of_the_running_code_is_found(tmp_path: Path) -> None:
    """The code at the top of the script runs already when torch is imported."""
    script = write(tmp_path, TWO_OPTIMIZERS)
    number = number_of(script, "for model, optimizer")
    report = report_of(script, options=("--step-boundary", f"{script}:{number}", "--steps", "3", *STOP))
    assert report["script"]["step"]["line"]["line"] == number


def test_a_line_that_never_runs(tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN)
    number = number_of(script, "class Net")
    done = run(script, "3", options=("--step-boundary", f"{script}:{number}"))
    assert done.returncode == 1
    assert f"line {number} of train.py had run 1 time." in done.stderr


def test_weights_that_the_script_updates_itself(tmp_path: Path) -> None:
    script = write(tmp_path, WITHOUT_OPTIMIZER)
    report = report_of(script, options=STOP)
    assert report["script"]["step"]["endsAt"] == "weightUpdate"
    lines = {one["line"]: one["timeMs"] for one in report["lines"]}
    assert lines[number_of(script, "update((model(x)")]["forward"] > 0
    assert number_of(script, "parameter -=") in lines


def test_what_lies_between_steps_is_named_and_no_part_of_them(tmp_path: Path) -> None:
    text = TRAIN.replace("evaluate(model, x)", "evaluate(model, x)\n        torch.save(model.state_dict(), CHECKPOINT)")
    script = write(tmp_path, f"CHECKPOINT = {str(tmp_path / 'model.pt')!r}\n" + text)
    report = report_of(script, "100000", options=STOP)
    between = {one["name"]: one for one in report["script"]["between"]}
    assert set(between) == {"evaluation", "checkpoint", "data loader start"}
    assert all(one["count"] >= 1 and one["timeMs"] > 0 for one in between.values())
    lines = {one["line"] for one in report["lines"] if one["timeMs"]["total"] > 0}
    assert number_of(script, "            loss.backward()") in lines
    assert not {number_of(script, mark) for mark in ("        model(data)", "torch.save")} & lines


def test_an_evaluation_that_ends_the_recording_is_no_part_of_its_peak(tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN.replace("model.eval()", "model.eval(); torch.ones(16 << 20)"))
    report = report_of(script, "100000", options=STOP)
    assert report["memory"]["peakBytes"] < 32 << 20


def test_what_happens_in_every_step_is_part_of_it(tmp_path: Path) -> None:
    text = WITHOUT_OPTIMIZER.replace("x = torch.randn(32, 64)", "model.eval(); x = torch.randn(32, 64); model.train()")
    script = write(tmp_path, text)
    number = number_of(script, "update((model(x)")
    report = report_of(script, options=("--step-boundary", f"{script}:{number}", "--steps", "3", *STOP))
    assert report["script"]["between"] == []
    assert number_of(script, "model.eval()") in {one["line"] for one in report["lines"]}


def test_batches_that_differ_have_a_mean_and_a_range(tmp_path: Path) -> None:
    """Two sizes in turns: throughput is the sum of the samples over the sum of the times."""
    script = write(
        tmp_path,
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        batches = [range(first, first + size) for first, size in [(0, 24), (24, 8)] * 400]
        while True:
            for (x,) in DataLoader(TensorDataset(torch.randn(64, 64)), batch_sampler=batches):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
        """,
    )
    report = report_of(script, options=STOP)
    samples = report["script"]["samples"]
    assert (samples["least"], samples["most"], samples["doubt"]) == (8, 24, "")
    assert report["entry"]["batchSize"] == 16
    assert report["throughput"]["samplesPerSecond"] > 0


def test_an_uncertain_batch_is_marked_and_can_be_named(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import torch
        weight = torch.randn(1000, 10, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=1e-3)
        while True:
            optimizer.zero_grad()
            (torch.randn(64, 1000) @ weight).tanh().square().mean().backward()
            optimizer.step()
        """,
    )
    done = run(script, options=STOP)
    assert "batch ≈" in done.stderr and "--batch-size" in done.stderr
    report = report_of(script, options=("--batch-size", "32", *STOP))
    assert report["entry"]["batchSize"] == 32
    assert report["script"]["samples"]["doubt"] == ""
