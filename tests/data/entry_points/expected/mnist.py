"""Entry point for Ridgeline, from mnist.py: a model, its input and one training iteration.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import argparse
import torch
import torch.nn.functional as F
import torch.optim as optim

from mnist import Net

if torch.cuda.is_available():
    device = torch.device("cuda")
else:
    device = torch.device("cpu")


def model_provider():
    model = Net().to(device)
    model.train()
    return model


def input_provider(batch_size=64):
    data = torch.randn(batch_size, 1, 28, 28)
    target = torch.randint(10, (batch_size,))
    return data, target


def iteration_provider(model):
    parser = argparse.ArgumentParser(description="PyTorch MNIST Example")
    parser.add_argument("--batch-size", type=int, default=64, metavar="N")
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)

    def iteration(data, target):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()

    return iteration
