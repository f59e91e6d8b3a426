"""A step whose lines have known costs: the same product of matrices once, three times, and at every level of a
recursion."""

import torch
from torch import nn

SIZE = 256

# One thread: with more, a product waits for whatever else the other cores run.
torch.set_num_threads(1)


class Chain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        # Orthogonal: products keep their size, so no line meets denormal numbers.
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(SIZE, SIZE))[0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w = self.weight
        x = x @ w  # no fair unit: it finds cold caches and adds to the input's gradient
        # In turns, so that a machine that is slow for a moment is slow for both.
        for _ in range(12):
            once = x @ w  # once
            x = ((once @ w) @ w) @ w  # three
        return self.down(x, 3)  # down

    def down(self, x: torch.Tensor, depth: int) -> torch.Tensor:
        if depth == 0:
            return x
        x = x @ self.weight  # level
        return self.down(x, depth - 1)  # recursion


def model_provider() -> nn.Module:
    torch.manual_seed(0)
    return Chain()


def input_provider(batch_size=256):
    return (torch.randn(batch_size, SIZE, requires_grad=True),)


def iteration_provider(model):
    def iteration(x):
        model.zero_grad()
        loss = model(x).sum()
        loss.backward()

    return iteration
