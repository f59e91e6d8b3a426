"""Entry point for Ridgeline, from notebook.py: a model, its input and one training iteration.

Importing the script would train, so what it needs is copied here.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
from torch import nn
from torch.utils.data import TensorDataset
from torch.utils.data import default_collate

x = torch.randn(1000, 20)
y = x.sum(dim=1, keepdim=True) + 0.1 * torch.randn(1000, 1)


class Regressor(nn.Module):
    """Two layers."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


device = "cuda" if torch.cuda.is_available() else "cpu"
dataset = TensorDataset(x, y)


def model_provider():
    HIDDEN = 64
    return Regressor(20, HIDDEN).to(device)


def input_provider(batch_size=16):
    return default_collate([dataset[index % len(dataset)] for index in range(batch_size)])


def iteration_provider(model):
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def iteration(inputs, targets):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return iteration
