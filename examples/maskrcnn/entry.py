"""Mask R-CNN training (He et al., ICCV 2017), smaller: narrow layers, images of 128 x 128, and few regions.

Shapes: images (N, 3, 128, 128); of each 4 objects: boxes (N, 4, 4) as left, top, right and bottom, labels (N, 4) in 10
classes, masks (N, 4, 28, 28) inside of the boxes; 4,052,104 parameters. All sizes are fixed: each image has the 32
regions that score best, without suppression of those that overlap, and its 4 objects.
"""

from collections.abc import Callable

import torch
from maskrcnn import CLASSES, MASK, SIZE, MaskRCNN, anchors, overlaps
from torch import Tensor, nn
from torch.nn import functional

OBJECTS = 4
BACKGROUND = CLASSES  # a class of its own


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return MaskRCNN().to(device())


def input_provider(batch_size: int = 2) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, SIZE, SIZE, generator=generator)
    corners = torch.rand(batch_size, OBJECTS, 2, generator=generator) * SIZE / 2
    sizes = (0.2 + torch.rand(batch_size, OBJECTS, 2, generator=generator) * 0.8) * SIZE / 2
    boxes = torch.cat((corners, corners + sizes), dim=2)
    labels = torch.randint(CLASSES, (batch_size, OBJECTS), generator=generator)
    masks = (torch.rand(batch_size, OBJECTS, MASK, MASK, generator=generator) > 0.5).float()
    return images.to(device()), boxes.to(device()), labels.to(device()), masks.to(device())


def offsets_to(targets: Tensor, boxes: Tensor) -> Tensor:
    """What a head is to say of boxes (..., 4), so that they become the targets."""
    sizes = (boxes[..., 2:] - boxes[..., :2]).clamp(min=1)
    return (targets - boxes) / torch.cat((sizes, sizes), dim=-1)


def box_loss(offsets: Tensor, targets: Tensor, is_positive: Tensor) -> Tensor:
    """Smooth L1 of the positive ones, on average."""
    losses = functional.smooth_l1_loss(offsets, targets, reduction="none").sum(-1)
    return (losses * is_positive).sum() / is_positive.sum().clamp(min=1)


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor, Tensor, Tensor], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=1e-4)
    all_anchors = anchors(device())

    def proposal_loss(objectness: Tensor, offsets: Tensor, boxes: Tensor) -> Tensor:
        overlap, object_of = overlaps(all_anchors.expand(len(boxes), -1, -1), boxes).max(2)
        is_positive = overlap > 0.5
        targets = offsets_to(boxes.gather(1, object_of.unsqueeze(2).expand(-1, -1, 4)), all_anchors)
        classified = functional.binary_cross_entropy_with_logits(objectness, is_positive.float())
        return classified + box_loss(offsets, targets, is_positive)

    def region_loss(regions: Tensor, logits: Tensor, offsets: Tensor, boxes: Tensor, labels: Tensor) -> Tensor:
        overlap, object_of = overlaps(regions, boxes).max(2)
        is_positive = overlap > 0.5
        classes = torch.where(is_positive, labels.gather(1, object_of), BACKGROUND)
        targets = offsets_to(boxes.gather(1, object_of.unsqueeze(2).expand(-1, -1, 4)), regions)
        return functional.cross_entropy(logits.flatten(0, 1), classes.flatten()) + box_loss(
            offsets, targets, is_positive
        )

    def iteration(images: Tensor, boxes: Tensor, labels: Tensor, masks: Tensor) -> None:
        optimizer.zero_grad()
        objectness, anchor_offsets, regions, logits, offsets, mask_logits = model(images, boxes)
        loss = proposal_loss(objectness, anchor_offsets, boxes) + region_loss(regions, logits, offsets, boxes, labels)
        of_class = labels[:, :, None, None, None].expand(-1, -1, 1, MASK, MASK)
        mask_loss = functional.binary_cross_entropy_with_logits(mask_logits.gather(2, of_class).squeeze(2), masks)
        (loss + mask_loss).backward()
        optimizer.step()

    return iteration
