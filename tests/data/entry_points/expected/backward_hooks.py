"""Entry point for Ridgeline, from backward_hooks.py: a model, its input and one training iteration.

Importing the script would train, so what it needs is copied here.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
from torch.utils.data import TensorDataset
from torch.utils.data import default_collate

data = TensorDataset(torch.randn(512, 64), torch.randint(0, 4, (512,)))


def model_provider():
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))


def input_provider(batch_size=24):
    return default_collate([data[index % len(data)] for index in range(batch_size)])


def iteration_provider(model):
    optimizers = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}
    def step_at_once(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step_at_once)

    def iteration(x, y):
        torch.nn.functional.cross_entropy(model(x), y).backward()

    return iteration
