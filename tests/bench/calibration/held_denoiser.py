"""A denoising autoencoder of wide linear layers."""

import torch
from steps import Step, step
from torch import Tensor, nn
from torch.nn import functional as F


def model_provider() -> nn.Module:
    widths = [1024, 512, 256, 512, 1024]
    layers: list[nn.Module] = []
    for before, after in zip(widths[:-1], widths[1:], strict=True):
        layers += [nn.Linear(before, after), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


def input_provider(batch_size: int = 192) -> tuple[Tensor]:
    return (torch.randn(batch_size, 1024),)


def loss_of(model: nn.Module, clean: Tensor) -> Tensor:
    return F.mse_loss(model(clean + 0.1 * torch.randn_like(clean)), clean)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.AdamW(model.parameters(), lr=1e-3))
