"""How many samples a training step trains: by shapes, by what loaders and models show, and over the whole time."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from found_steps import BYTES, found
from ridgeline_runner.script.batch_dimension import Samples, samples_in, samples_loaded
from ridgeline_runner.script.step_samples import StepSamples
from ridgeline_runner.script.whole_time import OTHER, LeftOut, WholeTime
from training_scripts import write


def empty(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.empty(shape) for shape in shapes]


@pytest.mark.parametrize(
    ("tensors", "count", "is_certain"),
    [
        (empty((8, 3), (8,)), 8, True),
        (empty((8, 3), (1, 3), ()), 8, True),
        (empty((35, 20), (2, 20, 64)), 20, False),
        (empty((64, 3), (9, 5)), 64, False),
        ([torch.empty(48, 32).reshape(-1)], 48, True),
        ([torch.empty(48, 1, 28, 28).view(-1, 784)], 48, True),
        ([torch.empty(1000, 32)[:16]], 16, True),
        ([torch.nested.nested_tensor(empty((3, 4), (5, 4)), layout=torch.jagged)], 2, True),
    ],
)
def test_the_samples_in_tensors(tensors: list[torch.Tensor], count: int, is_certain: bool) -> None:
    samples = samples_in(tensors)
    assert samples is not None
    assert (samples.count, samples.doubt == "") == (count, is_certain)


@pytest.mark.parametrize(
    ("tensors", "indices", "expected"),
    [
        (empty((7, 16, 4)), 16, 16),  # time first
        (empty((3, 8, 8), (3, 9, 9)), 2, 2),  # a list of images
        (empty((5, 4), (5,)), 1, 5),  # a data set of batches
        (empty((1, 4)), 1, 1),
        (empty((32, 4)), None, 32),
        ([], 4, 4),
    ],
)
def test_the_samples_of_a_loaded_batch(tensors: list[torch.Tensor], indices: int | None, expected: int) -> None:
    samples = samples_loaded(tensors, indices)
    assert samples is not None and samples.count == expected


def steps(loaded: list[int], passed: Samples | None, batches: int = 1) -> StepSamples:
    samples = StepSamples()
    samples.watched(passed, 1)
    for count in loaded:
        samples.step_ended(Samples(count) if count else None, batches if count else 0, None)
    return samples


def test_a_loader_that_gives_every_step_something_says_how_much() -> None:
    assert steps([20] * 8, Samples(35)).batch_size == 20
    assert steps([16] * 8, Samples(16 * 32)).doubt() == ""
    assert steps([64, 64, 64, 40], None).batch_size == 64
    varied = steps([24, 8] * 4, None)
    assert varied.batch_size == 16
    assert varied.description()["least"] == 8 and varied.description()["most"] == 24


def test_a_loader_that_feeds_several_steps_does_not() -> None:
    assert steps([256, 0, 0, 0] * 3, Samples(64)).by_step() == [64] * 12


def test_what_is_uncertain_is_asked() -> None:
    assert "--batch-size" in steps([0] * 4, Samples(35, "guessed")).warnings()[0]
    assert "not known" in steps([0] * 4, None).warnings()[0]
    assert steps([512] * 4, Samples(64), batches=2).doubt()
    given = StepSamples(given=96)
    given.step_ended(None, 0, None)
    assert (given.by_step(), given.warnings(), given.doubt()) == ([96], [], "")


def test_the_whole_time_is_made_of_cycles() -> None:
    whole = WholeTime()
    for _ in range(4):
        for step in range(5):
            whole.step_ended(*((1000, 990) if step == 0 else (10, 4)), {})
    described: Any = whole.description([8] * 20)
    assert described["isWhole"]
    assert (described["steps"], described["ns"], described["samples"]) == (15, 3 * 1040, 15 * 8)
    assert described["parts"] == [{"name": OTHER, "count": 3, "ns": 3 * (990 - 4)}]
    assert (described["usualNs"], described["usualSamples"]) == (160, 16 * 8)


def test_a_step_that_is_slow_throughout_contains_nothing_else() -> None:
    whole = WholeTime()
    for ns in [10] * 9 + [500]:
        whole.step_ended(ns, 4, {})
    assert whole.awaits_cycle(is_expected=True) and not whole.awaits_cycle(is_expected=False)
    assert whole.description([])["parts"] == []  # type: ignore[index]


def test_what_is_seen_once_is_waited_for() -> None:
    whole = WholeTime()
    for happened in ({}, {}, {"evaluation": 900}, {}):
        whole.step_ended(10 + sum(happened.values()), 5 + sum(happened.values()), happened)
    assert whole.awaits_cycle(is_expected=False)
    assert not whole.description([])["isWhole"]  # type: ignore[index]


def test_the_largest_step_is_kept_with_its_reason() -> None:
    left_out = LeftOut()
    left_out.observe(100, 0, "")
    left_out.observe(300, 1, "evaluation")
    left_out.add("evaluation", 5)
    described = left_out.description([8, 97])
    assert described["largest"] == {"steps": 2, "bytes": 300, "samples": 97, "reason": "evaluation"}
    assert described["leftOut"] == [{"reason": "evaluation", "count": 1, "ns": 5, "peakBytes": 300}]


# ---- scripts -----------------------------------------------------------------------------------------------------

BEGIN = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def batch(n):
    return torch.randn(n, 16), torch.randint(0, 4, (n,))
def train(n):
    x, y = batch(n)
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""

SCRIPTS = {
    "accumulation": (
        64,
        """
        for _ in range(3000):
            for _ in range(4):
                x, y = batch(16)
                F.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    ),
    "a test between steps": (
        64,
        """
        for _ in range(3000):
            train(64)
            with torch.no_grad(): model(torch.randn(3, 16))
            model(torch.randn(5, 16))
        """,
    ),
    "two sides of a pair": (
        32,
        """
        for _ in range(3000):
            optimizer.zero_grad()
            (model(batch(32)[0]) - model(batch(32)[0])).square().mean().backward()
            optimizer.step()
        """,
    ),
    "sequences first": (
        20,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(16, 16)
            def forward(self, x):
                return self.rnn(x)[0]
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for i in range(3000):
            optimizer.zero_grad()
            model(torch.randn(3 + i % 7, 20, 16)).square().mean().backward()
            optimizer.step()
        """,
    ),
    "a loss that gets a row for each token": (
        20,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(16, 4)
            def forward(self, x):
                return self.rnn(x)[0].view(-1, 4)
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        criterion = nn.CrossEntropyLoss()
        for i in range(3000):
            optimizer.zero_grad()
            criterion(model(torch.randn(7, 20, 16)), torch.randint(0, 4, (7, 20)).view(-1)).backward()
            optimizer.step()
        """,
    ),
    "batch times length": (
        6,
        """
        for _ in range(3000):
            optimizer.zero_grad()
            x, y = torch.randn(6, 5, 16), torch.randint(0, 4, (6, 5))
            F.cross_entropy(model(x.reshape(-1, 16)), y.reshape(-1)).backward()
            optimizer.step()
        """,
    ),
    "closures": (
        24,
        """
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=6)
        x, y = batch(24)
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss
        for _ in range(300): optimizer.step(closure)
        """,
    ),
    "keywords only": (
        12,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = model
            def forward(self, x=None, y=None):
                return F.cross_entropy(self.inner(x), y)
        net = Net()
        for _ in range(3000):
            x, y = batch(12)
            optimizer.zero_grad()
            net(x=x, y=y).backward()
            optimizer.step()
        """,
    ),
}


def script_of(tmp_path: Path, text: str) -> Path:
    return write(tmp_path, BEGIN + textwrap.dedent(text))


@pytest.mark.parametrize(("expected", "text"), SCRIPTS.values(), ids=SCRIPTS.keys())
def test_the_batch_size_of_a_script(tmp_path: Path, expected: int, text: str) -> None:
    result = found(script_of(tmp_path, text))
    assert result["type"] == "result", result
    samples = result["script"]["samples"]
    assert (samples["least"], samples["most"], samples["doubt"]) == (expected, expected, "")


def test_a_loss_of_fewer_samples_than_the_model_got_is_named(tmp_path: Path) -> None:
    text = """
        criterion = nn.CrossEntropyLoss()
        for i in range(3000):
            x, y = batch(27)
            optimizer.zero_grad()
            criterion(model(x)[:12], y[:12]).backward()
            optimizer.step()
    """
    samples = found(script_of(tmp_path, text))["script"]["samples"]
    assert samples["batchSize"] == 27
    assert samples["doubt"] == "the model was called with 27 samples, and the loss with 12"


def test_the_memory_of_steps_that_are_left_out(tmp_path: Path) -> None:
    text = """
        for i in range(3000):
            train(8)
            if i % 4 == 3:
                model.eval()
                model.train()
    """
    left_out = found(script_of(tmp_path, text), steps=4)["script"]["leftOut"]
    assert {one["peakBytes"] for one in left_out if one["reason"] == "evaluation"} == {BYTES}


def test_a_loader_that_gave_a_batch_before_the_steps_is_no_part_of_them(tmp_path: Path) -> None:
    text = """
        x, y = next(iter(DataLoader(TensorDataset(*batch(64)), 8)))
        for i in range(3000):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    """
    script = found(script_of(tmp_path, text))["script"]
    assert (script["samples"]["batchSize"], script["loading"]) == (8, None)


def test_episodes_of_different_length(tmp_path: Path) -> None:
    text = """
        for i in range(3000):
            results = [model(torch.randn(1, 16)).sum(1) for _ in range(5 + i % 4)]
            optimizer.zero_grad()
            torch.cat(results).mean().backward()
            optimizer.step()
    """
    samples = found(script_of(tmp_path, text))["script"]["samples"]
    assert (samples["least"], samples["most"]) == (5, 8)


def test_batches_that_differ_without_a_loader(tmp_path: Path) -> None:
    result = found(script_of(tmp_path, "for i in range(6000): train((8, 16, 32)[i % 3])\n"))
    samples = result["script"]["samples"]
    assert (samples["least"], samples["most"]) == (8, 32)
    assert samples["mean"] == pytest.approx(56 / 3, rel=0.05)


def test_the_samples_that_the_user_names(tmp_path: Path) -> None:
    result = found(script_of(tmp_path, "for i in range(3000): train(8)\n"), batchSize=40)
    assert result["batchSize"] == 40
    assert result["script"]["samples"]["batchSize"] == 40
