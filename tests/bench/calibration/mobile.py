"""Depthwise separable convolutions, as networks for phones have."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


class Inverted(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        inner = 4 * width
        self.layers = nn.Sequential(
            nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU6(),
            nn.Conv2d(inner, inner, 3, padding=1, groups=inner, bias=False), nn.BatchNorm2d(inner), nn.ReLU6(),
            nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


def model_provider() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 24, 3, 2, 1), *(Inverted(24) for _ in range(4)), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(24, 10),
    )  # fmt: skip


def input_provider(batch_size: int = 8) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 3, 64, 64))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.AdamW(model.parameters(), lr=1e-3))
