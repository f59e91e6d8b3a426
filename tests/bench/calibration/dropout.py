"""Dropout behind every layer, of elements and of channels."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


def model_provider() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2), nn.ReLU(), nn.Dropout2d(0.2), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(), nn.Dropout2d(0.2), nn.MaxPool2d(2), nn.Dropout(0.3), nn.Flatten(), nn.Linear(4096, 256),
        nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10),
    )  # fmt: skip


def input_provider(batch_size: int = 32) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 3, 32, 32))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True))
