"""What the steps of these entry points share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Step = Callable[..., None]


def step(model: nn.Module, loss_of: Callable[..., Tensor], optimizer: torch.optim.Optimizer) -> Step:
    """A training step: `loss_of` gets the model and the inputs."""

    def iteration(*inputs: Any) -> None:
        optimizer.zero_grad()
        loss = loss_of(model, *inputs)
        loss.backward()
        optimizer.step()

    return iteration


def classify(model: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
    return nn.functional.cross_entropy(model(inputs), labels)


def labelled(inputs: Tensor, classes: int = 10) -> tuple[Tensor, Tensor]:
    return inputs, torch.randint(classes, (len(inputs),))
