"""A small residual network: many normalisations of batches."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.layers(x))


def model_provider() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), *(Block(32) for _ in range(3)), nn.MaxPool2d(2), *(Block(32) for _ in range(3)),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 3, 32, 32))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4))
