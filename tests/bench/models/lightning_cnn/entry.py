"""A small convolutional network for CIFAR-like images as a LightningModule: its own training step and optimizer.

Shapes: images (N, 3, 32, 32), labels (N,); three convolutions of 32, 64 and 128 channels; 94,986 parameters.
"""

from collections.abc import Callable

import lightning
import torch
from torch import Tensor, nn


class SmallCNN(lightning.LightningModule):
    """Maps images (N, 3, 32, 32) to logits (N, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *self.block(3, 32),
            *self.block(32, 64),
            *self.block(64, 128),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.classifier = nn.Linear(128, 10)
        self.loss_function = nn.CrossEntropyLoss()

    @staticmethod
    def block(inputs: int, outputs: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)]

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.features(images))

    def training_step(self, batch: tuple[Tensor, Tensor], batch_index: int) -> Tensor:
        images, labels = batch
        return self.loss_function(self(images), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)


def model_provider() -> nn.Module:
    return SmallCNN()


def input_provider(batch_size: int = 32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, 32, 32, generator=generator)
    labels = torch.randint(10, (batch_size,), generator=generator)
    return images, labels


def iteration_provider(model: SmallCNN) -> Callable[[Tensor, Tensor], None]:
    model.train()
    optimizer = model.configure_optimizers()

    def iteration(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        loss = model.training_step((images, labels), 0)
        loss.backward()
        optimizer.step()

    return iteration
