"""A classifier of point clouds: shared layers for each point and a maximum over them."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


class Points(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.each = nn.Sequential(
            nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 256, 1), nn.BatchNorm1d(256), nn.ReLU()
        )
        self.all = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10))

    def forward(self, points: Tensor) -> Tensor:
        return self.all(self.each(points).amax(2))


def model_provider() -> nn.Module:
    return Points()


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 3, 512))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.Adam(model.parameters(), lr=1e-3))
