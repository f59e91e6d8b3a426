"""Mask R-CNN: He, Gkioxari, Dollar, Girshick (ICCV 2017), on a feature pyramid (Lin et al., CVPR 2017)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

SIZE, CLASSES, MASK = 128, 10, 28
STRIDES = (4, 8, 16, 32)
RATIOS = (0.5, 1.0, 2.0)  # of anchors, height to width; each is 8 strides large
WIDTH = 64  # channels of the pyramid
REGIONS = 32  # of an image
POOLED = 7  # places of a region, each way


class ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(inner)) + self.shortcut(x))


class Pyramid(nn.Module):
    """Maps images (N, 3, SIZE, SIZE) to features (N, WIDTH, H, W) at STRIDES."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        widths = (32, 64, 128, 256)
        self.stages = nn.ModuleList(
            nn.Sequential(
                ResidualBlock(widths[max(i - 1, 0)], width, 1 if i == 0 else 2), ResidualBlock(width, width, 1)
            )
            for i, width in enumerate(widths)
        )
        self.lateral = nn.ModuleList(nn.Conv2d(width, WIDTH, 1) for width in widths)
        self.smooth = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in widths)

    def forward(self, images: Tensor) -> list[Tensor]:
        x, levels = self.stem(images), []
        for stage, lateral in zip(self.stages, self.lateral, strict=True):
            x = stage(x)
            levels.append(lateral(x))
        for i in (2, 1, 0):
            levels[i] = levels[i] + functional.interpolate(levels[i + 1], scale_factor=2.0)
        return [smooth(level) for smooth, level in zip(self.smooth, levels, strict=True)]


class ProposalHead(nn.Module):
    """For each anchor, whether there is an object (N, A), and offsets of its box (N, A, 4)."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.objectness = nn.Conv2d(WIDTH, len(RATIOS), 1)
        self.offsets = nn.Conv2d(WIDTH, 4 * len(RATIOS), 1)

    def forward(self, levels: list[Tensor]) -> tuple[Tensor, Tensor]:
        objectness, offsets = [], []
        for level in levels:
            shared = functional.relu(self.shared(level))
            objectness.append(self.objectness(shared).permute(0, 2, 3, 1).flatten(1))
            offsets.append(self.offsets(shared).unflatten(1, (-1, 4)).permute(0, 3, 4, 1, 2).flatten(1, 3))
        return torch.cat(objectness, dim=1), torch.cat(offsets, dim=1)


class MaskRCNN(nn.Module):
    """Maps images (N, 3, SIZE, SIZE) and boxes of objects (N, K, 4) to what the losses need: objectness (N, A) and
    offsets (N, A, 4) of anchors; regions (N, R, 4), those of the proposals and the K boxes, their logits
    (N, R, CLASSES + 1) and offsets (N, R, 4); and the logits of the objects' masks (N, K, CLASSES, MASK, MASK)."""

    def __init__(self) -> None:
        super().__init__()
        self.pyramid = Pyramid()
        self.proposals = ProposalHead()
        self.box_head = nn.Sequential(
            nn.Flatten(), nn.Linear(WIDTH * POOLED**2, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()
        )
        self.classes = nn.Linear(256, CLASSES + 1)
        self.offsets = nn.Linear(256, 4)
        convolutions = [layer for _ in range(4) for layer in (nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.ReLU())]
        self.mask_head = nn.Sequential(
            *convolutions, nn.ConvTranspose2d(WIDTH, WIDTH, 2, 2), nn.ReLU(), nn.Conv2d(WIDTH, CLASSES, 1)
        )

    def forward(self, images: Tensor, boxes: Tensor) -> tuple[Tensor, ...]:
        levels = self.pyramid(images)
        objectness, anchor_offsets = self.proposals(levels)
        regions = torch.cat((best_anchors(objectness.detach()), boxes), dim=1)
        described = self.box_head(pooled(levels[0], regions, POOLED))
        logits = self.classes(described).unflatten(0, (len(images), -1))
        offsets = self.offsets(described).unflatten(0, (len(images), -1))
        masks = self.mask_head(pooled(levels[0], boxes, MASK // 2)).unflatten(0, (len(images), -1))
        return objectness, anchor_offsets, regions, logits, offsets, masks


def pooled(features: Tensor, boxes: Tensor, places: int) -> Tensor:
    """RoIAlign with one sample at each place, of the finest level: (N * R, WIDTH, places, places)."""
    steps = (torch.arange(places, device=boxes.device) + 0.5) / places
    x = boxes[..., 0:1] + (boxes[..., 2:3] - boxes[..., 0:1]) * steps  # (N, R, places)
    y = boxes[..., 1:2] + (boxes[..., 3:4] - boxes[..., 1:2]) * steps
    shape = (*x.shape, places)
    grid = torch.stack((x.unsqueeze(2).expand(shape), y.unsqueeze(3).expand(shape)), dim=4) / SIZE * 2 - 1
    sampled = functional.grid_sample(
        features, grid.flatten(1, 2), align_corners=False
    )  # (N, WIDTH, R * places, places)
    return sampled.unflatten(2, (-1, places)).transpose(1, 2).flatten(0, 1)


def anchors(device: torch.device) -> Tensor:
    """(A, 4), in the order of ProposalHead."""
    boxes = []
    for stride in STRIDES:
        places = (torch.arange(SIZE // stride, device=device) + 0.5) * stride
        y, x = torch.meshgrid(places, places, indexing="ij")
        centres = torch.stack((x, y), dim=2).unsqueeze(2)
        halves = torch.tensor([(4 * stride / ratio**0.5, 4 * stride * ratio**0.5) for ratio in RATIOS], device=device)
        boxes.append(torch.cat((centres - halves, centres + halves), dim=3).flatten(0, 2))
    return torch.cat(boxes)


def best_anchors(objectness: Tensor) -> Tensor:
    """The anchors that score best in each image, cut to the image: (N, REGIONS, 4)."""
    best = objectness.topk(REGIONS, dim=1).indices
    return anchors(objectness.device)[best].clamp(0, SIZE)


def overlaps(boxes: Tensor, others: Tensor) -> Tensor:
    """Intersection over union of boxes (N, A, 4) and others (N, K, 4): (N, A, K)."""
    left_top = torch.maximum(boxes[:, :, None, :2], others[:, None, :, :2])
    right_bottom = torch.minimum(boxes[:, :, None, 2:], others[:, None, :, 2:])
    both = (right_bottom - left_top).clamp(min=0).prod(3)
    areas = [(each[..., 2:] - each[..., :2]).prod(2) for each in (boxes, others)]
    return both / (areas[0][:, :, None] + areas[1][:, None] - both).clamp(min=1)
