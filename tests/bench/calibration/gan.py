"""A generator and a discriminator of convolutions, each with its own optimizer."""

import torch
from steps import Step
from torch import Tensor, nn
from torch.nn import functional as F


class Gan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(
            nn.ConvTranspose2d(64, 64, 4), nn.BatchNorm2d(64), nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh(),
        )  # fmt: skip
        self.discriminator = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1), nn.BatchNorm2d(32),
            nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.LeakyReLU(0.2), nn.Conv2d(64, 1, 4),
        )  # fmt: skip


def model_provider() -> nn.Module:
    return Gan()


def input_provider(batch_size: int = 32) -> tuple[Tensor]:
    return (torch.randn(batch_size, 3, 32, 32),)


def iteration_provider(model: Gan) -> Step:
    of_generator = torch.optim.Adam(model.generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_discriminator = torch.optim.Adam(model.discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def judged(images: Tensor, *, real: bool) -> Tensor:
        logits = model.discriminator(images).flatten()
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(real)))

    def iteration(images: Tensor) -> None:
        made = model.generator(torch.randn(len(images), 64, 1, 1))
        of_discriminator.zero_grad()
        (judged(images, real=True) + judged(made.detach(), real=False)).backward()
        of_discriminator.step()
        of_generator.zero_grad()
        judged(made, real=True).backward()
        of_generator.step()

    return iteration
