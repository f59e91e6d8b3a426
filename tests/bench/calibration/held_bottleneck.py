"""Residual blocks with bottlenecks and squeeze-and-excitation on small images."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        inner = width // 4
        self.path = nn.Sequential(
            nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, inner, 3, padding=1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip
        self.gate = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, width), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        y = self.path(x)
        return F.relu(x + y * self.gate(y.mean((2, 3)))[:, :, None, None])


def model_provider() -> nn.Module:
    stem = nn.Conv2d(3, 64, 3, stride=2, padding=1)
    return nn.Sequential(stem, *(Block(64) for _ in range(4)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 3, 64, 64))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4))
