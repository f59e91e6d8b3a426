"""A variational autoencoder: the loss compares with the input, which has to be between 0 and 1."""
import argparse

import torch
from torch import nn, optim
from torch.nn import functional as F
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=96)
args = parser.parse_args()
options = {"batch_size": args.batch_size}
loader = torch.utils.data.DataLoader(
    datasets.MNIST("data", train=True, download=True, transform=transforms.ToTensor()), shuffle=True, **options
)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(784, 64)
        self.mean = nn.Linear(64, 8)
        self.logvar = nn.Linear(64, 8)
        self.decoder = nn.Linear(8, 784)

    def forward(self, x):
        hidden = F.relu(self.hidden(x.view(-1, 784)))
        mean, logvar = self.mean(hidden), self.logvar(hidden)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        return torch.sigmoid(self.decoder(z)), mean, logvar


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)


def loss_function(output, x, mean, logvar):
    reconstruction = F.binary_cross_entropy(output, x.view(-1, 784), reduction="sum")
    return reconstruction - 0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())


def train():
    for data, _ in loader:
        optimizer.zero_grad()
        output, mean, logvar = model(data)
        loss_function(output, data, mean, logvar).backward()
        optimizer.step()


if __name__ == "__main__":
    train()
