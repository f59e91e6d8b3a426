"""A convnet of two layers for images of digits, with dropout before the classifier."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


def model_provider() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def input_provider(batch_size: int = 32) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 1, 28, 28))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.Adadelta(model.parameters()))
