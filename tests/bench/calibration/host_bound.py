"""Many tiny operations: Python between them takes longer than they do."""

import torch
from steps import Step, step
from torch import Tensor, nn


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(8, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, series: Tensor) -> Tensor:
        hidden, cell = series.new_zeros(len(series), 16), series.new_zeros(len(series), 16)
        for moment in series.unbind(1):
            hidden, cell = self.cell(moment, (hidden, cell))
        return self.head(hidden).squeeze(1)


def model_provider() -> nn.Module:
    return Cells()


def input_provider(batch_size: int = 8) -> tuple[Tensor, Tensor]:
    return torch.randn(batch_size, 40, 8), torch.randn(batch_size)


def loss_of(model: nn.Module, series: Tensor, wanted: Tensor) -> Tensor:
    return nn.functional.l1_loss(model(series), wanted)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.Adam(model.parameters(), lr=1e-3))
