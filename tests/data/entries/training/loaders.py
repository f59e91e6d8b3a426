"""Data loaders with and without workers, read inside the step."""

import itertools
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        end = time.perf_counter() + 0.0005
        while time.perf_counter() < end:  # decode
            pass
        return torch.full((64,), float(index % 7))


def model_provider():
    return nn.Linear(64, 64)


def input_provider(batch_size=8):
    here = DataLoader(Slow(), batch_size=batch_size)
    there = DataLoader(Slow(), batch_size=batch_size, num_workers=1)
    return iter(itertools.chain.from_iterable(itertools.repeat(here))), iter(there)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def iteration(here, there):
        x = next(here)  # here
        y = next(there)  # there
        optimizer.zero_grad()
        model(x + y).square().mean().backward()  # backward
        optimizer.step()

    return iteration
