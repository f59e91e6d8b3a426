"""A variational autoencoder with binary cross-entropy."""

import torch
from steps import Step, step
from torch import Tensor, nn
from torch.nn import functional as F


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 400), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(400, 20), nn.Linear(400, 20)
        self.decoder = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid())

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.encoder(images)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(code), mean, log_variance


def model_provider() -> nn.Module:
    return Vae()


def input_provider(batch_size: int = 128) -> tuple[Tensor]:
    return (torch.rand(batch_size, 784),)


def loss_of(model: nn.Module, images: Tensor) -> Tensor:
    rebuilt, mean, log_variance = model(images)
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return F.binary_cross_entropy(rebuilt, images, reduction="sum") + divergence


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.Adam(model.parameters(), lr=1e-3))
