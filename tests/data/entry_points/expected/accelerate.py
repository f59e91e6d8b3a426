"""Entry point for Ridgeline, from accelerate.py: a model, its input and one training iteration.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import TensorDataset
from torch.utils.data import default_collate

data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))


def model_provider():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def input_provider(batch_size=16):
    return default_collate([data[index % len(data)] for index in range(batch_size)])


def iteration_provider(network):
    accelerator = Accelerator(cpu=True)
    model = network
    optimizer = torch.optim.AdamW(network.parameters())

    def iteration(x, y):
        optimizer.zero_grad()
        accelerator.backward(nn.functional.cross_entropy(model(x), y))
        optimizer.step()

    return iteration
