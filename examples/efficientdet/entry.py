"""EfficientDet training (Tan, Pang, Le, CVPR 2020), smaller: narrow layers and images of 128 x 128.

Shapes: images (N, 3, 128, 128); of each 4 boxes (N, 4, 4) as left, top, right and bottom, with labels (N, 4) in 10
classes; 385,340 parameters. An anchor belongs to the box that its centre is in, where the paper compares overlaps.
"""

from collections.abc import Callable

import torch
from efficientdet import CLASSES, SIZE, EfficientDet, anchor_centres
from torch import Tensor, nn
from torch.nn import functional

BOXES = 4


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return EfficientDet().to(device())


def input_provider(batch_size: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, SIZE, SIZE, generator=generator)
    corners = torch.rand(batch_size, BOXES, 2, generator=generator) * SIZE / 2
    sizes = (0.1 + torch.rand(batch_size, BOXES, 2, generator=generator)) * SIZE / 2
    labels = torch.randint(CLASSES, (batch_size, BOXES), generator=generator)
    return images.to(device()), torch.cat((corners, corners + sizes), dim=2).to(device()), labels.to(device())


def focal_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Of Lin et al. (ICCV 2017), summed: what is easy counts little."""
    loss = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    wrong = torch.where(targets > 0, 1 - logits.sigmoid(), logits.sigmoid())
    return (torch.where(targets > 0, 0.25, 0.75) * wrong.square() * loss).sum()


def targets_of(boxes: Tensor, labels: Tensor, centres: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each of the anchors: whether it has a box (N, A), one-hot classes (N, A, CLASSES), its box (N, A, 4)."""
    is_in = (centres >= boxes[:, :, None, :2]).all(3) & (centres <= boxes[:, :, None, 2:]).all(3)
    box_of = is_in.int().argmax(1)  # the first
    is_positive = is_in.any(1)
    classes = functional.one_hot(labels.gather(1, box_of), CLASSES).float() * is_positive.unsqueeze(2)
    return is_positive, classes, boxes.gather(1, box_of.unsqueeze(2).expand(-1, -1, 4))


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor, Tensor], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=4e-5)
    centres = anchor_centres(device())

    def iteration(images: Tensor, boxes: Tensor, labels: Tensor) -> None:
        is_positive, classes, found = targets_of(boxes, labels, centres)
        positives = is_positive.sum().clamp(min=1)
        optimizer.zero_grad()
        logits, offsets = model(images)
        class_loss = focal_loss(logits, classes) / positives
        towards = (found - torch.cat((centres, centres), dim=1)) / SIZE
        box_loss = functional.smooth_l1_loss(offsets, towards, reduction="none", beta=0.1).sum(2)
        loss = class_loss + 50 * (box_loss * is_positive).sum() / positives
        loss.backward()
        optimizer.step()

    return iteration
