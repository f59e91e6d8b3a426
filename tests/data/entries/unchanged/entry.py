"""A step with everything that a profiler could disturb: random state, running statistics, optimizer state."""

import torch
from torch import nn


def model_provider():
    torch.manual_seed(7)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(2048, 10)
    )


def input_provider(batch_size=8):
    torch.manual_seed(11)
    return torch.randn(batch_size, 3, 16, 16), torch.randint(0, 10, (batch_size,))


def iteration_provider(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    loss_function = nn.CrossEntropyLoss()

    def iteration(x, y):
        optimizer.zero_grad()
        loss_function(model(x + 0.1 * torch.randn_like(x)), y).backward()
        optimizer.step()
        schedule.step()

    return iteration
