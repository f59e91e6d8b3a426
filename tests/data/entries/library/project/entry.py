"""A step whose model and loss come from packages."""

import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
for folder in ("env/site-packages", "env/more/site-packages", "../editable"):
    sys.path.append(str((HERE / folder).resolve()))

from losses import energy  # noqa: E402
from nets import Net  # noqa: E402


def model_provider():
    return Net()


def input_provider(batch_size=64):
    return (torch.randn(batch_size, 256),)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def iteration(x):
        optimizer.zero_grad()
        out = model(x)  # call
        loss = energy(out)  # loss
        loss.backward()  # backward
        optimizer.step()

    return iteration
