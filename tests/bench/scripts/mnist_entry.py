"""The training step of mnist.py as an entry point."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from mnist_model import Net


def model_provider():
    return Net()


def input_provider(batch_size=16):
    return torch.randn(batch_size, 1, 28, 28), torch.randint(0, 10, (batch_size,))


def iteration_provider(model):
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)

    def iteration(data, target):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()

    return iteration
