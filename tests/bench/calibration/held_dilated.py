"""Dilated causal convolutions over a signal, gated as WaveNet has them."""

import torch
from steps import Step, classify, step
from torch import Tensor, nn
from torch.nn import functional as F


class Gated(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.pad = dilation
        self.both = nn.Conv1d(width, 2 * width, 2, dilation=dilation)
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.both(F.pad(x, (self.pad, 0))).chunk(2, 1)
        return x + self.out(torch.tanh(value) * torch.sigmoid(gate))


def model_provider() -> nn.Module:
    return nn.Sequential(nn.Conv1d(1, 48, 1), *(Gated(48, 2**i) for i in range(6)), nn.Conv1d(48, 64, 1))


def input_provider(batch_size: int = 12) -> tuple[Tensor, Tensor]:
    return torch.randn(batch_size, 1, 400), torch.randint(64, (batch_size, 400))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.Adam(model.parameters(), lr=1e-3))
