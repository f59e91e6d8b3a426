"""Texts of entry points that tests and benchmarks write. Imports nothing, also for interpreters on other machines."""

from __future__ import annotations

from collections.abc import Sequence

# The iteration provider of entry points whose model has one input and any output.
TRAINED_BY_SGD = """def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def iteration(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return iteration
"""

_BLOCKS = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(96, width), nn.Linear(width, 96)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)).square())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(width) for width in {widths}])

    def forward(self, x):
        return self.blocks(x)


def model_provider():
    return Net()


def input_provider(batch_size={batch_size}):
    return (torch.randn(batch_size, 96),)


"""


def entry_of_blocks(widths: Sequence[int], batch_size: int = 64) -> str:
    """A chain of blocks of these widths, which can be checkpointed as `blocks.0` and so on."""
    text = _BLOCKS.replace("{widths}", str(list(widths))).replace("{batch_size}", str(batch_size))
    return text + TRAINED_BY_SGD


def modules_in(argument: str) -> list[str]:
    """`blocks.0..1,blocks.3` as single names."""
    names = []
    for part in argument.split(","):
        if ".." in part:
            head, _, last = part.partition("..")
            prefix, _, first = head.rpartition(".")
            names += [f"{prefix}.{number}" for number in range(int(first), int(last) + 1)]
        else:
            names.append(part)
    return names
