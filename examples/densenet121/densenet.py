"""DenseNet-121: Huang, Liu, van der Maaten, Weinberger, "Densely Connected Convolutional Networks" (CVPR 2017).

The BC variant of Table 1: bottlenecks of four times the growth rate (32), transitions that halve the channels.
"""

import torch
from torch import Tensor, nn

GROWTH = 32


class DenseLayer(nn.Module):
    """Adds GROWTH channels to its input: (N, C, H, W) to (N, C + GROWTH, H, W)."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(in_channels)
        self.conv1 = nn.Conv2d(in_channels, 4 * GROWTH, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * GROWTH)
        self.conv2 = nn.Conv2d(4 * GROWTH, GROWTH, kernel_size=3, padding=1, bias=False)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, features: Tensor) -> Tensor:
        new = self.conv1(self.relu(self.norm1(features)))
        new = self.conv2(self.relu(self.norm2(new)))
        return torch.cat((features, new), dim=1)


class Transition(nn.Module):
    """Halves channels and resolution: (N, C, H, W) to (N, C / 2, H / 2, W / 2)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(channels, channels // 2, kernel_size=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2)

    def forward(self, features: Tensor) -> Tensor:
        return self.pool(self.conv(self.relu(self.norm(features))))


class DenseNet121(nn.Module):
    """Maps images (N, 3, 224, 224) to logits (N, num_classes)."""

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        self.block1 = dense_block(64, depth=6)
        self.transition1 = Transition(256)
        self.block2 = dense_block(128, depth=12)
        self.transition2 = Transition(512)
        self.block3 = dense_block(256, depth=24)
        self.transition3 = Transition(1024)
        self.block4 = dense_block(512, depth=16)
        self.norm = nn.BatchNorm2d(1024)
        self.relu = nn.ReLU(inplace=True)
        self.fc = nn.Linear(1024, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.stem(images)
        x = self.transition1(self.block1(x))
        x = self.transition2(self.block2(x))
        x = self.transition3(self.block3(x))
        x = self.block4(x)
        x = self.relu(self.norm(x))
        return self.fc(x.mean(dim=(2, 3)))


def dense_block(in_channels: int, depth: int) -> nn.Sequential:
    """`depth` layers, each of which sees what all before it made."""
    return nn.Sequential(*(DenseLayer(in_channels + i * GROWTH) for i in range(depth)))
