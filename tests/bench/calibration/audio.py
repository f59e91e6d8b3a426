"""Convolutions over waveforms, with wide strides."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


def model_provider() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(1, 48, 80, 4), nn.BatchNorm1d(48), nn.ReLU(), nn.MaxPool1d(4), nn.Conv1d(48, 48, 3),
        nn.BatchNorm1d(48), nn.ReLU(), nn.MaxPool1d(4), nn.Conv1d(48, 96, 3), nn.BatchNorm1d(96), nn.ReLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(96, 35),
    )  # fmt: skip


def input_provider(batch_size: int = 24) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 1, 8000), 35)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4))
