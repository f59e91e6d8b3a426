"""An encoder and a decoder of PyTorch's transformer, for sequences of numbers."""

import torch
from steps import Step, step
from torch import Tensor, nn


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(24, 96)
        self.transformer = nn.Transformer(96, 4, 2, 2, 256, dropout=0.0, batch_first=True)
        self.out = nn.Linear(96, 24)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.out(self.transformer(self.into(source), self.into(target)))


def model_provider() -> nn.Module:
    return Translator()


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor]:
    return torch.randn(batch_size, 40, 24), torch.randn(batch_size, 40, 24)


def loss_of(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
    return nn.functional.mse_loss(model(source, target), target)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.Adam(model.parameters(), lr=1e-4))
