"""A mixture of experts: each token goes to the two that its router chooses."""

import torch
from steps import Step, step
from torch import Tensor, nn


class Experts(nn.Module):
    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.router = nn.Linear(width, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(count)
        )

    def forward(self, tokens: Tensor) -> Tensor:
        weights, chosen = self.router(tokens).float().softmax(-1).topk(2)
        mixed = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            rows, which = torch.where(chosen == number)
            outputs = expert(tokens[rows]) * weights[rows, which, None]
            mixed = mixed.index_add(0, rows, outputs.to(mixed.dtype))
        return tokens + mixed


def model_provider() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), Experts(128, 4), nn.LayerNorm(128), Experts(128, 4), nn.Linear(128, 64))


def input_provider(batch_size: int = 512) -> tuple[Tensor, Tensor]:
    return torch.randn(batch_size, 64), torch.randn(batch_size, 64)


def loss_of(model: nn.Module, tokens: Tensor, wanted: Tensor) -> Tensor:
    return nn.functional.mse_loss(model(tokens), wanted)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.AdamW(model.parameters(), lr=1e-3))
