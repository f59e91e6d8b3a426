"""Wasserstein GAN whose critic steps twice for each step of its generator, and DDP under another name."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH_SIZE = 64


def main():
    torch.distributed.init_process_group("gloo")
    generator = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 256))
    critic = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
    critic_of_ranks = DistributedDataParallel(critic)
    critic_optimizer = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
    generator_optimizer = torch.optim.RMSprop(generator.parameters(), lr=5e-5)
    for step in range(1000):
        for _ in range(2):
            critic_optimizer.zero_grad()
            real = torch.randn(BATCH_SIZE, 256)
            fake = generator(torch.randn(BATCH_SIZE, 16)).detach()
            (critic_of_ranks(fake).mean() - critic_of_ranks(real).mean()).backward()
            critic_optimizer.step()
        generator_optimizer.zero_grad()
        (-critic_of_ranks(generator(torch.randn(BATCH_SIZE, 16))).mean()).backward()
        generator_optimizer.step()


if __name__ == "__main__":
    main()
