"""Gradients of four batches for each step of the optimizer."""

from __future__ import annotations

import torch
from common import STEPS, print_digest
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    data = TensorDataset(torch.randn(512, 64), torch.randint(0, 10, (512,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    batches = 0
    while batches < 4 * STEPS:
        for x, y in loader:
            (nn.functional.cross_entropy(model(x), y) / 4).backward()
            batches += 1
            if batches % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
            if batches == 4 * STEPS:
                break
    print_digest(model)


if __name__ == "__main__":
    main()
