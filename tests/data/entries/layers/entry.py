"""A loop over layers on one line: the report has to tell the layers apart."""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(256, 256), nn.Linear(256, 4096), nn.Linear(4096, 256)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:  # loop
            x = layer(x)  # layer
        return x


def model_provider():
    return Tower()


def input_provider(batch_size=256):
    return (torch.randn(batch_size, 256),)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def iteration(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return iteration
