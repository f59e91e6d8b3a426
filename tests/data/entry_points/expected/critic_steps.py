"""Entry point for Ridgeline, from critic_steps.py: a model, its input and one training iteration.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
from torch import nn

from critic_steps import BATCH_SIZE


def model_provider():
    generator = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 256))
    critic = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
    return generator, critic


def input_provider(batch_size=32):  # guessed
    raise NotImplementedError("TODO: the input, batch_size samples")


def iteration_provider(generator, critic):
    critic_of_ranks = critic
    critic_optimizer = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
    generator_optimizer = torch.optim.RMSprop(generator.parameters(), lr=5e-5)

    def iteration():
        for _ in range(2):
            critic_optimizer.zero_grad()
            real = torch.randn(BATCH_SIZE, 256)
            fake = generator(torch.randn(BATCH_SIZE, 16)).detach()
            (critic_of_ranks(fake).mean() - critic_of_ranks(real).mean()).backward()
            critic_optimizer.step()
        generator_optimizer.zero_grad()
        (-critic_of_ranks(generator(torch.randn(BATCH_SIZE, 16))).mean()).backward()
        generator_optimizer.step()

    return iteration
