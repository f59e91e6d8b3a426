"""A normalising flow: affine coupling of halves."""

import torch
from steps import Step, step
from torch import Tensor, nn


class Coupling(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(width // 2, 256), nn.Tanh(), nn.Linear(256, width))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        fixed, moved = x.chunk(2, 1)
        scale, shift = self.network(fixed).float().chunk(2, 1)
        scale = torch.tanh(scale)
        return torch.cat([moved * scale.exp() + shift, fixed], 1), scale.sum(1)


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(64) for _ in range(8))

    def forward(self, x: Tensor) -> Tensor:
        log_determinant = torch.zeros(len(x))
        for coupling in self.couplings:
            x, more = coupling(x)
            log_determinant = log_determinant + more
        return 0.5 * x.pow(2).sum(1) - log_determinant


def model_provider() -> nn.Module:
    return Flow()


def input_provider(batch_size: int = 256) -> tuple[Tensor]:
    return (torch.randn(batch_size, 64),)


def loss_of(model: nn.Module, samples: Tensor) -> Tensor:
    return model(samples).mean()


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.Adam(model.parameters(), lr=1e-3))
