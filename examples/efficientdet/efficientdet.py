"""EfficientDet: Tan, Pang, Le, "EfficientDet: Scalable and Efficient Object Detection" (CVPR 2020)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

SIZE, CLASSES = 128, 10
STRIDES = (8, 16, 32)  # of the levels that have anchors
SHAPES = 3  # anchors at each place
WIDTH = 48  # channels of the pyramid
# The backbone's blocks: channels, stride, and how much wider the inside is.
BLOCKS = ((16, 1, 1), (24, 2, 6), (24, 1, 6), (40, 2, 6), (40, 1, 6), (80, 2, 6), (80, 1, 6), (160, 2, 6))


def convolution(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)
    )


def separable(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False), nn.Conv2d(inputs, outputs, 1)
    )


class MobileBlock(nn.Module):
    """An inverted residual with a depthwise convolution and squeeze-and-excitation."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.expand = convolution(inputs, inner)
        self.depthwise = convolution(inner, inner, 3, stride, groups=inner)
        self.squeeze = nn.Conv2d(inner, max(4, inputs // 4), 1)
        self.excite = nn.Conv2d(max(4, inputs // 4), inner, 1)
        self.project = convolution(inner, outputs)
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.silu(self.expand(x))
        inner = functional.silu(self.depthwise(inner))
        squeezed = functional.silu(self.squeeze(inner.mean((2, 3), keepdim=True)))
        inner = inner * self.excite(squeezed).sigmoid()
        projected = self.project(inner)
        return x + projected if self.is_residual else projected


class Backbone(nn.Module):
    """Maps images (N, 3, SIZE, SIZE) to features at STRIDES."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = convolution(3, 16, 3, stride=2)
        widths = [16, *(channels for channels, _, _ in BLOCKS)]
        self.blocks = nn.ModuleList(MobileBlock(inputs, *block) for inputs, block in zip(widths, BLOCKS, strict=False))
        self.widths = [40, 80, 160]

    def forward(self, images: Tensor) -> list[Tensor]:
        x, features = functional.silu(self.stem(images)), []
        for block in self.blocks:
            x = block(x)
            features.append(x)
        return [features[4], features[6], features[7]]


class Fusion(nn.Module):
    """A weighted sum of features of one resolution, then a separable convolution (section 3.3)."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.ones(inputs))
        self.convolution = separable(WIDTH, WIDTH)
        self.norm = nn.BatchNorm2d(WIDTH)

    def forward(self, features: list[Tensor]) -> Tensor:
        weights = functional.relu(self.weights)
        weights = weights / (weights.sum() + 1e-4)
        fused = sum(weight * each for weight, each in zip(weights, features, strict=True))
        return self.norm(self.convolution(functional.silu(fused)))


class PyramidLayer(nn.Module):
    """BiFPN on three levels: from coarse to fine, and back."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList((Fusion(2), Fusion(2)))
        self.up = nn.ModuleList((Fusion(3), Fusion(2)))

    def forward(self, levels: list[Tensor]) -> list[Tensor]:
        fine, middle, coarse = levels
        between = self.down[0]([middle, functional.interpolate(coarse, scale_factor=2.0)])
        fine = self.down[1]([fine, functional.interpolate(between, scale_factor=2.0)])
        middle = self.up[0]([middle, between, functional.max_pool2d(fine, 3, 2, 1)])
        coarse = self.up[1]([coarse, functional.max_pool2d(middle, 3, 2, 1)])
        return [fine, middle, coarse]


class EfficientDet(nn.Module):
    """Maps images (N, 3, SIZE, SIZE) to logits (N, A, CLASSES) and offsets of boxes (N, A, 4) of all A anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone()
        self.lateral = nn.ModuleList(convolution(channels, WIDTH) for channels in self.backbone.widths)
        self.pyramid = nn.Sequential(PyramidLayer(), PyramidLayer())
        self.class_tower, self.box_tower = separable(WIDTH, WIDTH), separable(WIDTH, WIDTH)
        self.classes, self.boxes = separable(WIDTH, SHAPES * CLASSES), separable(WIDTH, SHAPES * 4)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        features = self.backbone(images)
        levels = self.pyramid([lateral(each) for lateral, each in zip(self.lateral, features, strict=True)])
        logits = [self.classes(functional.silu(self.class_tower(level))) for level in levels]
        offsets = [self.boxes(functional.silu(self.box_tower(level))) for level in levels]
        return by_anchor(logits, CLASSES), by_anchor(offsets, 4)


def by_anchor(levels: list[Tensor], size: int) -> Tensor:
    """(N, SHAPES * size, H, W) of each level as (N, A, size)."""
    return torch.cat([level.unflatten(1, (SHAPES, size)).permute(0, 3, 4, 1, 2).flatten(1, 3) for level in levels], 1)


def anchor_centres(device: torch.device) -> Tensor:
    """(A, 2), in the order of by_anchor()."""
    centres = []
    for stride in STRIDES:
        places = (torch.arange(SIZE // stride, device=device) + 0.5) * stride
        rows, columns = torch.meshgrid(places, places, indexing="ij")
        centres.append(torch.stack((columns, rows), dim=2).flatten(0, 1).repeat_interleave(SHAPES, dim=0))
    return torch.cat(centres)
