"""Thirty residual layers with normalisation of batches, narrow."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


def model_provider() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), *(Block(128) for _ in range(30)), nn.Linear(128, 10))


def input_provider(batch_size: int = 256) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 64))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
