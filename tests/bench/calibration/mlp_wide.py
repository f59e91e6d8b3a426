"""Wide linear layers on tables of numbers."""

import torch
from steps import Step, step
from torch import Tensor, nn


def model_provider() -> nn.Module:
    return nn.Sequential(nn.Linear(200, 1500), nn.SiLU(), nn.Linear(1500, 1500), nn.SiLU(), nn.Linear(1500, 1))


def input_provider(batch_size: int = 96) -> tuple[Tensor, Tensor]:
    return torch.randn(batch_size, 200), torch.randn(batch_size, 1)


def loss_of(model: nn.Module, rows: Tensor, wanted: Tensor) -> Tensor:
    return nn.functional.huber_loss(model(rows), wanted)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.RMSprop(model.parameters(), lr=1e-3))
