"""Sparse gradients, a scripted module and a data-parallel wrapper."""

import torch
from torch import nn


@torch.jit.script
def gate(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * x


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 256)
        self.b = nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(torch.relu(self.a(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(2000, 64, mode="sum", sparse=True)  # embedding
        self.tower = torch.jit.script(Tower())

    def forward(self, ids):
        x = self.embed(ids)  # embed
        x = gate(x)  # gate
        return self.tower(x)  # tower


def model_provider():
    return nn.DataParallel(Net())


def input_provider(batch_size=128):
    return (torch.randint(2000, (batch_size, 10)),)


def iteration_provider(model):
    sparse = torch.optim.SparseAdam(list(model.module.embed.parameters()))
    dense = torch.optim.Adagrad(model.module.tower.parameters())

    def iteration(ids):
        sparse.zero_grad()
        dense.zero_grad()
        model(ids).square().mean().backward()  # backward
        sparse.step()  # sparse
        dense.step()  # dense

    return iteration
