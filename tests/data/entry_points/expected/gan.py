"""Entry point for Ridgeline, from gan.py: a model, its input and one training iteration.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
import torch.nn as nn
from torch.utils.data import default_collate

from gan import Discriminator, Generator, Rings, latent_dim

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
dataset = Rings()


def model_provider():
    netG, netD = Generator().to(device), Discriminator(width=128).to(device)
    return netD, netG


def input_provider(batch_size=32):
    return (default_collate([dataset[index % len(dataset)] for index in range(batch_size)]),)


def iteration_provider(netD, netG):
    adversarial_loss = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def iteration(data):
        netD.zero_grad()
        real = data[0].to(device)
        size = real.size(0)
        label = torch.full((size, 1), 1.0, device=device)
        errD_real = adversarial_loss(netD(real), label)
        errD_real.backward()
        noise = torch.randn(size, latent_dim, device=device)
        fake = netG(noise)
        label.fill_(0.0)
        errD_fake = adversarial_loss(netD(fake.detach()), label)
        errD_fake.backward()
        optimizerD.step()
        netG.zero_grad()
        label.fill_(1.0)
        errG = adversarial_loss(netD(fake), label)
        errG.backward()
        optimizerG.step()

    return iteration
