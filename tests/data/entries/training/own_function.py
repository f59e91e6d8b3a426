"""An autograd Function with NumPy in its backward, and recomputation in both forms of torch.utils.checkpoint."""

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x  # forward

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        slow = np.sort(np.random.default_rng(0).standard_normal(2_000_000))  # numpy
        return gradient * 3 * x * x + float(slow[0]) * 0  # gradient


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(256, 1024)
        self.b = nn.Linear(1024, 256)

    def forward(self, x):
        x = self.a(x)  # a
        x = torch.nn.functional.gelu(x)  # gelu
        return self.b(x)  # b


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(4))

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=i % 2 == 0)  # checkpoint
        return Cube.apply(x)  # apply


def model_provider():
    return Net()


def input_provider(batch_size=64):
    return (torch.randn(batch_size, 256, requires_grad=True),)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def iteration(x):
        optimizer.zero_grad()
        loss = model(x).mean()  # loss
        loss.backward()  # backward
        optimizer.step()  # step

    return iteration
