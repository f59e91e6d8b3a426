"""Two views of each image, and a loss over the similarities of all pairs."""

import torch
from steps import Step, step
from torch import Tensor, nn
from torch.nn import functional as F


def model_provider() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64),
        nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64),
    )  # fmt: skip


def input_provider(batch_size: int = 48) -> tuple[Tensor, Tensor]:
    return torch.randn(batch_size, 3, 32, 32), torch.randn(batch_size, 3, 32, 32)


def loss_of(model: nn.Module, first: Tensor, second: Tensor) -> Tensor:
    codes = F.normalize(model(torch.cat([first, second])), dim=1)
    similar = (codes @ codes.t() / 0.1).fill_diagonal_(float("-inf"))
    partners = torch.arange(len(codes)).roll(len(first))
    return F.cross_entropy(similar, partners)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4))
