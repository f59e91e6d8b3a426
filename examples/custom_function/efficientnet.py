"""EfficientNet-B0: Tan, Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks" (ICML 2019).

Its activation is written as an `autograd.Function` that keeps only its input: the plain x * sigmoid(x) would keep the
sigmoid too, a second tensor of the same size for each of the 49 activations. Drop-connect is left out.
"""

from typing import Any

import torch
from torch import Tensor, nn


class SwishFunction(torch.autograd.Function):
    """x * sigmoid(x); backward computes the sigmoid again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        sigmoid = torch.sigmoid(x)
        return gradient * sigmoid * (1 + x * (1 - sigmoid))


class Swish(nn.Module):
    """Swish (Ramachandran et al., 2017), saving memory; any shape."""

    def forward(self, x: Tensor) -> Tensor:
        return SwishFunction.apply(x)


class ConvNormSwish(nn.Sequential):
    """A convolution, its batch normalisation, and the activation."""

    def __init__(self, in_channels: int, channels: int, kernel_size: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(
            nn.Conv2d(in_channels, channels, kernel_size, stride, kernel_size // 2, groups=groups, bias=False),
            nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01),
            Swish(),
        )


class SqueezeExcitation(nn.Module):
    """Scales channels by a gate made of their means (Hu et al., CVPR 2018); (N, C, H, W) stays that shape."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeezed, kernel_size=1)
        self.swish = Swish()
        self.excite = nn.Conv2d(squeezed, channels, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        means = x.mean(dim=(2, 3), keepdim=True)
        gate = torch.sigmoid(self.excite(self.swish(self.squeeze(means))))
        return x * gate


class InvertedBottleneck(nn.Module):
    """MBConv (Sandler et al., CVPR 2018): expand, filter each channel, excite, project."""

    def __init__(self, in_channels: int, channels: int, expansion: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        inner = in_channels * expansion
        self.expand = ConvNormSwish(in_channels, inner, 1) if expansion != 1 else nn.Identity()
        self.depthwise = ConvNormSwish(inner, inner, kernel_size, stride, groups=inner)
        self.excitation = SqueezeExcitation(inner, in_channels // 4)
        self.project = nn.Conv2d(inner, channels, kernel_size=1, bias=False)
        self.norm = nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)
        self.residual = stride == 1 and in_channels == channels

    def forward(self, x: Tensor) -> Tensor:
        out = self.expand(x)
        out = self.depthwise(out)
        out = self.excitation(out)
        out = self.norm(self.project(out))
        return x + out if self.residual else out


class EfficientNet(nn.Module):
    """B0 (Table 1). Maps images (N, 3, 224, 224) to logits (N, num_classes)."""

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.stem = ConvNormSwish(3, 32, kernel_size=3, stride=2)
        # Channels in and out, expansion, kernel size, stride of the first block, blocks.
        self.stage2 = bottlenecks(32, 16, 1, 3, 1, 1)
        self.stage3 = bottlenecks(16, 24, 6, 3, 2, 2)
        self.stage4 = bottlenecks(24, 40, 6, 5, 2, 2)
        self.stage5 = bottlenecks(40, 80, 6, 3, 2, 3)
        self.stage6 = bottlenecks(80, 112, 6, 5, 1, 3)
        self.stage7 = bottlenecks(112, 192, 6, 5, 2, 4)
        self.stage8 = bottlenecks(192, 320, 6, 3, 1, 1)
        self.head = ConvNormSwish(320, 1280, kernel_size=1)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(1280, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.stem(images)
        x = self.stage2(x)
        x = self.stage3(x)
        x = self.stage4(x)
        x = self.stage5(x)
        x = self.stage6(x)
        x = self.stage7(x)
        x = self.stage8(x)
        x = self.head(x).mean(dim=(2, 3))
        return self.fc(self.dropout(x))


def bottlenecks(
    in_channels: int, channels: int, expansion: int, kernel_size: int, stride: int, depth: int
) -> nn.Sequential:
    """A stage of `depth` blocks; the first one changes the resolution and the channels."""
    first = InvertedBottleneck(in_channels, channels, expansion, kernel_size, stride)
    rest = [InvertedBottleneck(channels, channels, expansion, kernel_size, stride=1) for _ in range(depth - 1)]
    return nn.Sequential(first, *rest)
