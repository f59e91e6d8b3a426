"""DCGAN training (Radford et al., ICLR 2016), with synthetic images: two models and two optimizers.

Shapes: images (N, 3, 64, 64), noise (N, 100). The generator has 12,658,435 parameters and the discriminator
11,036,289 parameters. The model provider returns both as a tuple; the iteration provider gets them as arguments.
"""

from collections.abc import Callable

import torch
from dcgan import Discriminator, Generator
from torch import Tensor, nn
from torch.nn import functional

NOISE_SIZE = 100


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> tuple[nn.Module, nn.Module]:
    return Generator(NOISE_SIZE).to(device()), Discriminator().to(device())


def input_provider(batch_size: int = 4) -> tuple[Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(batch_size, 3, 64, 64, generator=generator) * 2 - 1
    return (images.to(device()),)


def iteration_provider(generator: nn.Module, discriminator: nn.Module) -> Callable[[Tensor], None]:
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def loss_function(logits: Tensor, real: bool) -> Tensor:
        return functional.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(real)))

    def iteration(images: Tensor) -> None:
        noise = torch.randn(len(images), NOISE_SIZE, device=images.device)
        fakes = generator(noise)

        discriminator_optimizer.zero_grad()
        real_loss = loss_function(discriminator(images), real=True)
        real_loss.backward()
        fake_loss = loss_function(discriminator(fakes.detach()), real=False)
        fake_loss.backward()
        discriminator_optimizer.step()

        generator_optimizer.zero_grad()
        generator_loss = loss_function(discriminator(fakes), real=True)
        generator_loss.backward()
        generator_optimizer.step()

    return iteration
