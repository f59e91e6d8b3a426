"""After PyTorch's example mnist: a convolutional network, an evaluation and a checkpoint after each epoch."""

from __future__ import annotations

import tempfile

import torch
import torch.nn.functional as F
from common import STEPS, print_digest
from mnist_model import Net
from torch.utils.data import DataLoader, TensorDataset


def test(model: Net, loader: DataLoader) -> None:
    model.eval()
    with torch.no_grad():
        for data, target in loader:
            F.nll_loss(model(data), target, reduction="sum")


def main() -> None:
    torch.manual_seed(1)
    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    images, labels = torch.randn(320, 1, 28, 28), torch.randint(0, 10, (320,))
    train_loader = DataLoader(TensorDataset(images, labels), batch_size=16)
    test_loader = DataLoader(TensorDataset(images[:32], labels[:32]), batch_size=32)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    done = 0
    while done < STEPS:
        model.train()
        for data, target in train_loader:
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()
            done += 1
            if done == STEPS:
                break
        test(model, test_loader)
        scheduler.step()
        with tempfile.TemporaryFile() as file:
            torch.save(model.state_dict(), file)
    print_digest(model)


if __name__ == "__main__":
    main()
