"""A classifier of time series: a bidirectional GRU and pooling."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


class Series(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(16, 96, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(192)
        self.head = nn.Linear(192, 6)

    def forward(self, series: Tensor) -> Tensor:
        return self.head(self.norm(self.gru(series)[0]).mean(1))


def model_provider() -> nn.Module:
    return Series()


def input_provider(batch_size: int = 32) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 64, 16), 6)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.AdamW(model.parameters(), lr=1e-3))
