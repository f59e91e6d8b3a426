"""GoogLeNet (Inception v1): Szegedy et al., "Going Deeper with Convolutions" (CVPR 2015), with its two auxiliary heads.

Table 1 with the paper's local response normalisation, and no batch normalisation.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Convolution(nn.Module):
    """A convolution that keeps the resolution (over the stride), and ReLU."""

    def __init__(self, in_channels: int, channels: int, kernel_size: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, channels, kernel_size, stride, padding=kernel_size // 2)
        nn.init.kaiming_normal_(self.conv.weight, nonlinearity="relu")
        nn.init.zeros_(self.conv.bias)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.conv(x))


class Inception(nn.Module):
    """Four branches side by side (Figure 2b): (N, in_channels, H, W) to (N, sum of the branches, H, W)."""

    def __init__(
        self, in_channels: int, one: int, reduce3: int, three: int, reduce5: int, five: int, pooled: int
    ) -> None:
        super().__init__()
        self.branch1 = Convolution(in_channels, one, 1)
        self.branch3 = nn.Sequential(Convolution(in_channels, reduce3, 1), Convolution(reduce3, three, 3))
        self.branch5 = nn.Sequential(Convolution(in_channels, reduce5, 1), Convolution(reduce5, five, 5))
        self.branch_pool = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), Convolution(in_channels, pooled, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((self.branch1(x), self.branch3(x), self.branch5(x), self.branch_pool(x)), dim=1)


class AuxiliaryHead(nn.Module):
    """A classifier in the middle (section 5): (N, in_channels, 14, 14) to logits (N, num_classes)."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.pool = nn.AvgPool2d(kernel_size=5, stride=3)
        self.conv = Convolution(in_channels, 128, 1)
        self.fc1 = nn.Linear(128 * 4 * 4, 1024)
        self.dropout = nn.Dropout(0.7)
        self.fc2 = nn.Linear(1024, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(self.pool(x)).flatten(1)
        return self.fc2(self.dropout(functional.relu(self.fc1(x))))


class GoogLeNet(nn.Module):
    """Maps images (N, 3, 224, 224) to the logits of the main and the two auxiliary heads, each (N, num_classes)."""

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.norm = nn.LocalResponseNorm(size=5)
        self.conv1 = Convolution(3, 64, 7, stride=2)
        self.conv2 = nn.Sequential(Convolution(64, 64, 1), Convolution(64, 192, 3))
        self.inception3a = Inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = Inception(256, 128, 128, 192, 32, 96, 64)
        self.inception4a = Inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = Inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = Inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = Inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = Inception(528, 256, 160, 320, 32, 128, 128)
        self.inception5a = Inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = Inception(832, 384, 192, 384, 48, 128, 128)
        self.auxiliary1 = AuxiliaryHead(512, num_classes)
        self.auxiliary2 = AuxiliaryHead(528, num_classes)
        self.dropout = nn.Dropout(0.4)
        self.fc = nn.Linear(1024, num_classes)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.norm(self.pool(self.conv1(images)))
        x = self.pool(self.norm(self.conv2(x)))
        x = self.inception3a(x)
        x = self.inception3b(x)
        x = self.inception4a(self.pool(x))
        auxiliary1 = self.auxiliary1(x)
        x = self.inception4b(x)
        x = self.inception4c(x)
        x = self.inception4d(x)
        auxiliary2 = self.auxiliary2(x)
        x = self.inception4e(x)
        x = self.inception5a(self.pool(x))
        x = self.inception5b(x)
        x = self.dropout(x.mean(dim=(2, 3)))
        return self.fc(x), auxiliary1, auxiliary2
