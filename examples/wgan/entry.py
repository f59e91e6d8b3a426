"""WGAN-GP training (Gulrajani et al., NeurIPS 2017), with synthetic images: several updates of the critic for one of
the generator, and a gradient penalty, whose backward pass goes through a backward pass.

Shapes: images (N, 3, 32, 32), noise (N, 128). The generator has 3,685,507 parameters and the critic 2,636,673
parameters. The model provider returns both as a dict; the iteration provider gets them as keywords.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from wgan import Critic, Generator

NOISE_SIZE = 128
CRITIC_UPDATES = 5
PENALTY_WEIGHT = 10.0


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> dict[str, nn.Module]:
    return {"generator": Generator(NOISE_SIZE).to(device()), "critic": Critic().to(device())}


def input_provider(batch_size: int = 4) -> tuple[Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(batch_size, 3, 32, 32, generator=generator) * 2 - 1
    return (images.to(device()),)


def gradient_penalty(critic: nn.Module, images: Tensor, fakes: Tensor) -> Tensor:
    """How far the gradient's norm at points between real and fake images is from one, squared (equation 3)."""
    mix = torch.rand(len(images), 1, 1, 1, device=images.device)
    between = torch.lerp(images, fakes, mix).requires_grad_()
    scores = critic(between)
    (gradient,) = torch.autograd.grad(scores.sum(), between, create_graph=True)
    return ((gradient.flatten(1).norm(dim=1) - 1) ** 2).mean()


def iteration_provider(generator: nn.Module, critic: nn.Module) -> Callable[[Tensor], None]:
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.0, 0.9))
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))

    def noise_for(images: Tensor) -> Tensor:
        return torch.randn(len(images), NOISE_SIZE, device=images.device)

    def iteration(images: Tensor) -> None:
        for _ in range(CRITIC_UPDATES):
            critic_optimizer.zero_grad()
            with torch.no_grad():
                fakes = generator(noise_for(images))
            distance = critic(images).mean() - critic(fakes).mean()
            penalty = gradient_penalty(critic, images, fakes)
            critic_loss = PENALTY_WEIGHT * penalty - distance
            critic_loss.backward()
            critic_optimizer.step()

        generator_optimizer.zero_grad()
        generator_loss = -critic(generator(noise_for(images))).mean()
        generator_loss.backward()
        generator_optimizer.step()

    return iteration
