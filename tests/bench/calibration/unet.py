"""A U-Net of two levels, for masks of images."""

import torch
from steps import Step, step
from torch import Tensor, nn


class Pair(nn.Sequential):
    def __init__(self, before: int, after: int) -> None:
        super().__init__(
            nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU(),
        )  # fmt: skip


class Unet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.bottom = Pair(3, 16), Pair(16, 32), Pair(32, 64)
        self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
        self.join2, self.join1 = Pair(64, 32), Pair(32, 16)
        self.head = nn.Conv2d(16, 1, 1)

    def forward(self, images: Tensor) -> Tensor:
        first = self.down1(images)
        second = self.down2(nn.functional.max_pool2d(first, 2))
        bottom = self.bottom(nn.functional.max_pool2d(second, 2))
        second = self.join2(torch.cat([second, self.up2(bottom)], 1))
        return self.head(self.join1(torch.cat([first, self.up1(second)], 1)))


def model_provider() -> nn.Module:
    return Unet()


def input_provider(batch_size: int = 4) -> tuple[Tensor, Tensor]:
    return torch.randn(batch_size, 3, 64, 64), torch.randint(2, (batch_size, 1, 64, 64)).float()


def loss_of(model: nn.Module, images: Tensor, masks: Tensor) -> Tensor:
    return nn.functional.binary_cross_entropy_with_logits(model(images), masks)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.RMSprop(model.parameters(), lr=1e-4, momentum=0.9))
