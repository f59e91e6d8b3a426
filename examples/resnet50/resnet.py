"""ResNet-50: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition" (CVPR 2016).

The v1.5 variant: a bottleneck that halves the resolution does so in its 3x3 convolution, where
the paper does it in the first 1x1. Images (N, 3, 224, 224) become logits (N, 1000); with 1000
classes there are 25,557,032 parameters.
"""

from torch import Tensor, nn


class Bottleneck(nn.Module):
    """A residual block (Figure 5, right): 1x1 reduces, 3x3 works, 1x1 expands, the input is added.

    Maps (N, in_channels, H, W) to (N, 4 * width, H / stride, W / stride). The shortcut is the
    identity, or a projection (option B of the paper) where the shape changes.
    """

    expansion = 4

    def __init__(self, in_channels: int, width: int, stride: int = 1) -> None:
        super().__init__()
        out_channels = width * self.expansion
        self.conv1 = nn.Conv2d(in_channels, width, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out_channels, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(out_channels),
            )

    def forward(self, x: Tensor) -> Tensor:
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)

        out = self.conv2(out)
        out = self.bn2(out)
        out = self.relu(out)

        out = self.conv3(out)
        out = self.bn3(out)

        shortcut = self.shortcut(x)
        out += shortcut
        return self.relu(out)


class ResNet(nn.Module):
    """A bottleneck ResNet (Table 1) with `depths[i]` blocks in its i-th of four layers."""

    def __init__(self, depths: tuple[int, int, int, int], num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = bottlenecks(depths[0], in_channels=64, width=64, stride=1)
        self.layer2 = bottlenecks(depths[1], in_channels=256, width=128, stride=2)
        self.layer3 = bottlenecks(depths[2], in_channels=512, width=256, stride=2)
        self.layer4 = bottlenecks(depths[3], in_channels=1024, width=512, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(2048, num_classes)
        self.initialize()

    def initialize(self) -> None:
        """Draws the convolutions as in He et al. (ICCV 2015), preserving backward variance."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        x = self.conv1(images)
        x = self.bn1(x)
        x = self.relu(x)
        x = self.maxpool(x)

        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)

        x = self.avgpool(x)
        x = self.flatten(x)
        return self.fc(x)


def bottlenecks(depth: int, in_channels: int, width: int, stride: int) -> nn.Sequential:
    """A layer of `depth` blocks; the first one changes the resolution and the channels."""
    first = Bottleneck(in_channels, width, stride)
    rest = [Bottleneck(width * Bottleneck.expansion, width) for _ in range(depth - 1)]
    return nn.Sequential(first, *rest)


def resnet50(num_classes: int = 1000) -> ResNet:
    return ResNet((3, 4, 6, 3), num_classes)
