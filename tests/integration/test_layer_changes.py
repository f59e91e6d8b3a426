"""Changes of layers, made around real models: other widths, modules taken out, selective checkpointing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "profiler" / "runner"))

import torch  # noqa: E402
from ridgeline_runner.changes import built_in  # noqa: E402
from ridgeline_runner.changes.change import NotApplicable, Parts  # noqa: E402
from ridgeline_runner.step import operation_log  # noqa: E402
from ridgeline_runner.step.entry import EntryPoint, load  # noqa: E402

ENTRY = """import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.first = nn.Linear(8, 32)
        self.scale = nn.LayerNorm(32)
        self.block = Block(32)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.depthwise(self.norm(self.stem(x)))).mean((2, 3))
        return self.head(self.block(self.scale(self.first(x))))


def model_provider():
    return Net()


def input_provider(batch_size=8):
    return torch.randn(batch_size, 3, 24, 24), torch.randint(0, 10, (batch_size,))


def iteration_provider(model):
    optimizer = torch.optim.Adam(model.parameters())

    def iteration(images, labels):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return iteration
"""


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EntryPoint:
    path = tmp_path / f"entry_{tmp_path.name.replace('-', '_')}.py"
    path.write_text(ENTRY)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.chdir(tmp_path)
    return EntryPoint.of(load(str(path), str(tmp_path)), str(path))


def trained(entry: EntryPoint, *requests: str) -> Parts:
    """The changed step after it really ran: every parameter of the model was trained."""
    parts = built_in.build(entry, list(requests), entry.batch_size)
    before = {name: parameter.detach().clone() for name, parameter in parts.models[0].named_parameters()}
    parts.function(*parts.inputs)
    for name, parameter in parts.models[0].named_parameters():
        if parameter.grad is not None:
            assert not torch.equal(parameter, before[name]), name
    return parts


def refused(entry: EntryPoint, request: str) -> str:
    with pytest.raises(NotApplicable) as refusal:
        built_in.build(entry, [request], entry.batch_size)
    return str(refusal.value)


def test_the_next_layers_get_the_width_of_a_layer_that_changed(entry: EntryPoint) -> None:
    model = trained(entry, "set:block.up:out_features=96").models[0]
    assert model.block.up.weight.shape == (96, 32)
    assert model.block.down.weight.shape == (32, 96)
    assert (model.block.up.out_features, model.block.down.in_features) == (96, 96)


def test_a_width_passes_norms_and_depthwise_convolutions(entry: EntryPoint) -> None:
    model = trained(entry, "set:stem:out_channels=20").models[0]
    assert model.norm.running_mean.shape == (20,)
    assert model.depthwise.weight.shape == (20, 1, 3, 3)
    assert model.depthwise.groups == 20
    assert model.first.in_features == 20
    assert model.head.weight.shape == (10, 32), "what does not follow stays"


def test_where_shapes_do_not_fit_the_layer_is_named(entry: EntryPoint) -> None:
    reason = refused(entry, "set:block.down:out_features=48")
    assert "shapes do not fit in block (Block)" in reason
    assert "must match the size" in reason


def test_a_class_stands_for_its_instances_but_the_last(entry: EntryPoint) -> None:
    # Block.down and Block.up get the same width as first, so the sum in the block fits.
    model = trained(entry, "set:Linear:out_features=48").models[0]
    assert model.first.out_features == model.block.up.out_features == model.block.down.out_features == 48
    assert model.scale.normalized_shape == (48,)
    assert (model.head.in_features, model.head.out_features) == (48, 10)


def test_what_is_wrong_with_a_width_is_said(entry: EntryPoint) -> None:
    assert "set:MODULE:ATTRIBUTE=N" in refused(entry, "set:first")
    assert "whole number" in refused(entry, "set:first:out_features=many")
    assert "it has out_features" in refused(entry, "set:first:in_features=4")
    assert "no module called nowhere" in refused(entry, "set:nowhere:out_features=4")
    assert "is not a width that can be set" in refused(entry, "set:block:out_features=4")
    assert "the model's output" in refused(entry, "set:LayerNorm:normalized_shape=4")


def test_weights_that_are_shared_are_refused(entry: EntryPoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def tied():
        model = entry.model_provider()
        model.block.up.weight = model.first.weight
        return model

    shared = EntryPoint(**{**vars(entry), "model_provider": tied})
    assert "shares its weight" in refused(shared, "set:first:out_features=64")


def test_a_module_taken_out_passes_its_input_on_and_widths_follow(entry: EntryPoint) -> None:
    model = trained(entry, "without:block.up").models[0]
    assert model.block.down.weight.shape == (32, 32)
    assert model.block.up.weight is None, "what is taken out is not trained, and takes no memory"
    model = trained(entry, "without:block").models[0]
    assert model.head.in_features == 32
    assert "shapes do not fit" in refused(entry, "without:block.down")


def test_widths_combine_with_other_changes(entry: EntryPoint) -> None:
    parts = trained(entry, "set:block.up:out_features=96", "batch-size:4", "checkpoint:block")
    assert parts.inputs[0].shape[0] == 4
    assert parts.models[0].block.down.in_features == 96


def test_random_numbers_are_those_of_the_unchanged_step(entry: EntryPoint) -> None:
    torch.manual_seed(7)
    built_in.build(entry, [], entry.batch_size)
    unchanged = torch.rand(1)
    torch.manual_seed(7)
    built_in.build(entry, ["without:block"], entry.batch_size)
    assert torch.equal(torch.rand(1), unchanged)


def counts(entry: EntryPoint, *requests: str) -> tuple[int, int]:
    """Counts in a step: its matrix products, and how often relu runs."""
    parts = built_in.build(entry, list(requests), entry.batch_size)
    log = operation_log.log_step(lambda: parts.function(*parts.inputs), {})
    names = list(log.names)
    called = [names[name] for _, name, _, _ in log.sequence]
    return sum(name in ("aten::mm", "aten::addmm") for name in called), called.count("aten::relu")


def test_selective_checkpointing_runs_no_matrix_product_again(entry: EntryPoint) -> None:
    products, relus = counts(entry)
    whole = counts(entry, "checkpoint:block")
    assert whole[0] > products
    assert counts(entry, "selective-checkpoint:block") == (products, relus + 1)
    gradients = []
    for request in ([], ["selective-checkpoint:block"]):
        torch.manual_seed(3)
        parts = built_in.build(entry, request, entry.batch_size)
        parts.function(*parts.inputs)
        gradients.append(sum(p.grad.abs().sum().item() for p in parts.models[0].parameters()))
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-5)
