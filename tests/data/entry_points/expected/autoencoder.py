"""Entry point for Ridgeline, from autoencoder.py: a model, its input and one training iteration.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
from torch import optim

from autoencoder import VAE, loss_function


def model_provider():
    return VAE()


def input_provider(batch_size=96):
    data = torch.rand(batch_size, 1, 28, 28)  # from 0 to 1, as the loss takes it
    _ = torch.zeros(batch_size)  # not used
    return data, _


def iteration_provider(model):
    optimizer = optim.Adam(model.parameters(), lr=1e-3)

    def iteration(data, _):
        optimizer.zero_grad()
        output, mean, logvar = model(data)
        loss_function(output, data, mean, logvar).backward()
        optimizer.step()

    return iteration
