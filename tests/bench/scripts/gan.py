"""A GAN whose critic steps twice for each step of its generator."""

from __future__ import annotations

import torch
from common import STEPS, print_digest
from torch import nn


def main() -> None:
    torch.manual_seed(1)
    generator = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 256))
    critic = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
    critic_optimizer = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
    generator_optimizer = torch.optim.RMSprop(generator.parameters(), lr=5e-5)
    real = torch.randn(64, 256)
    for _ in range(STEPS):
        for _ in range(2):
            critic_optimizer.zero_grad()
            fake = generator(torch.randn(64, 16)).detach()
            (critic(fake).mean() - critic(real).mean()).backward()
            critic_optimizer.step()
        generator_optimizer.zero_grad()
        (-critic(generator(torch.randn(64, 16))).mean()).backward()
        generator_optimizer.step()
    print_digest(generator, critic)


if __name__ == "__main__":
    main()
