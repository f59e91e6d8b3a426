"""Entry point for Ridgeline, from slices.py: a model, its input and one training iteration.

Importing the script would train, so what it needs is copied here.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
from torch import nn

X = torch.randn(1000, 20)
order = torch.randperm(len(X))


def model_provider():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))


def input_provider(batch_size=50):
    i = 0
    BATCH = batch_size
    index = order[i : i + BATCH]
    assert len(index) == batch_size, "the data has fewer samples"
    return (index,)


def iteration_provider(model):
    optimizer = torch.optim.Adam(model.parameters())
    Y = torch.randint(0, 3, (1000,))
    BATCH = 50

    def iteration(index):
        loss = nn.functional.cross_entropy(model(X[index]), Y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return iteration
