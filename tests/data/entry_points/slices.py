"""Batches are slices of the data, as in a notebook."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters())
X = torch.randn(1000, 20)
Y = torch.randint(0, 3, (1000,))
BATCH = 50
for epoch in range(3):
    order = torch.randperm(len(X))
    for i in range(0, len(X), BATCH):
        index = order[i : i + BATCH]
        loss = nn.functional.cross_entropy(model(X[index]), Y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
