"""The examples themselves: parameters as their docstrings say, outputs of the stated shapes, a step that trains."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from conftest import ROOT
from torch import Tensor, nn

BATCH_SIZE = 2

# The outputs of the first call of each model.
OUTPUTS: dict[str, list[list[tuple[int, ...]]]] = {
    "a3c": [[(2, 6), (2,)]],
    "bert": [[(2, 10, 30_522)]],
    "char_rnn": [[(2, 50, 65)]],
    "checkpointed": [[(2, 1000)]],
    "compiled": [[(2, 1000)]],
    "custom_function": [[(2, 1000)]],
    "dataloader": [[(2, 10)]],
    "dcgan": [[(2, 3, 64, 64)], [(2,)]],
    "deepspeech": [[(50, 2, 29)]],
    "densenet121": [[(2, 1000)]],
    "efficientdet": [[(2, 1008, 10), (2, 1008, 4)]],
    "gnmt": [[(2, 25, 32_317)]],
    "gpt": [[(2, 32, 50_257)]],
    "inception": [[(2, 1000), (2, 1000), (2, 1000)]],
    "lstm_accumulate": [[(1, 35, 10_000)]],  # a micro-batch
    "maskrcnn": [[(2, 4080), (2, 4080, 4), (2, 36, 4), (2, 36, 11), (2, 36, 4), (2, 4, 10, 28, 28)]],
    "minigo": [[(2, 82), (2,)]],
    "mlp": [[(2, 10)]],
    "resnet50": [[(2, 1000)]],
    "scheduled_sampling": [[(2, 19, 2000)]],
    "transformer": [[(2, 25, 37_000)]],
    "vgg11": [[(2, 1000)]],
    "wgan": [[(2, 3, 32, 32)], [(2,)]],
}


def test_every_example_is_here() -> None:
    assert sorted(OUTPUTS) == sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ROOT / "examples" / name
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    entry = load(folder / "entry.py")

    returned = entry.model_provider()
    keywords = returned if isinstance(returned, dict) else {}
    positional = returned if isinstance(returned, tuple) else () if keywords else (returned,)
    models = [*positional, *keywords.values()]
    stated = re.findall(r"([\d,]+)\s+parameters", entry.__doc__)
    assert stated == [f"{sum(p.numel() for p in model.parameters()):,}" for model in models]

    outputs: dict[nn.Module, list[tuple[int, ...]]] = {}

    def note_output(model: nn.Module, _: Any, output: Any) -> None:
        outputs.setdefault(model, shapes(output))

    for model in models:
        model.register_forward_hook(note_output)
    losses: list[float] = []
    backward = Tensor.backward

    def observed_backward(self: Tensor, *arguments: Any, **options: Any) -> None:
        losses.append(self.item())
        backward(self, *arguments, **options)

    monkeypatch.setattr(Tensor, "backward", observed_backward)
    before = [checksums(model) for model in models]
    step = entry.iteration_provider(*positional, **keywords)
    with torch.compiler.set_stance("force_eager"):
        step(*entry.input_provider(batch_size=BATCH_SIZE))

    assert [outputs[model] for model in models] == OUTPUTS[name]
    assert losses and all(math.isfinite(loss) for loss in losses)
    for model, old in zip(models, before, strict=True):
        new = checksums(model)
        assert all(parameter.grad is not None for parameter in model.parameters())
        assert all(math.isfinite(value) for value in new.values())
        assert new != old


def shapes(output: Tensor | tuple[Tensor, ...]) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for tensor in (output if isinstance(output, tuple) else (output,))]


def checksums(model: nn.Module) -> dict[str, float]:
    return {name: parameter.detach().abs().sum().item() for name, parameter in model.named_parameters()}
