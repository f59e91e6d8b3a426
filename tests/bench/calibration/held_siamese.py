"""One convolutional network for both images of a pair, and a margin between distances."""

import torch
from steps import Step, step
from torch import Tensor, nn
from torch.nn import functional as F


def model_provider() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.LazyLinear(64),
    )  # fmt: skip


def input_provider(batch_size: int = 32) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(batch_size, 1, 40, 40), torch.randn(batch_size, 1, 40, 40), torch.rand(batch_size).round()


def loss_of(model: nn.Module, left: Tensor, right: Tensor, same: Tensor) -> Tensor:
    distance = F.pairwise_distance(model(left), model(right))
    return (same * distance**2 + (1 - same) * F.relu(1 - distance) ** 2).mean()


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.SGD(model.parameters(), lr=0.01))
