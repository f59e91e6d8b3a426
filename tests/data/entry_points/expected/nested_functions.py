"""Entry point for Ridgeline, from nested_functions.py: a model, its input and one training iteration.

Importing the script would train, so what it needs is copied here.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

from dataclasses import dataclass
import torch
from torch.utils.data import TensorDataset
from torch.utils.data import default_collate


@dataclass
class Settings:
    batch: int = 40
    rate: float = 0.1


data = TensorDataset(torch.randn(512, 64), torch.randint(0, 4, (512,)))


def model_provider():
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))


def input_provider(batch_size=40):
    return default_collate([data[index % len(data)] for index in range(batch_size)])


def iteration_provider(model):
    settings = Settings()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=settings.rate, max_iter=3)

    def iteration(x, y):
        def closure():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return loss
        optimizer.step(closure)

    return iteration
