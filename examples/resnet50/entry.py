"""ResNet-50 training on ImageNet shapes (He et al., CVPR 2016), with synthetic images.

Shapes: images (N, 3, 224, 224), labels (N,) in 1000 classes; 25,557,032 parameters. Momentum and
weight decay are the paper's; the learning rate is its 0.1 for 256 images, scaled to a small batch.
"""

from collections.abc import Callable

import torch
from resnet import resnet50
from torch import Tensor, nn


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return resnet50().to(device())


def input_provider(batch_size: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, 224, 224, generator=generator)
    labels = torch.randint(1000, (batch_size,), generator=generator)
    return images.to(device()), labels.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9, weight_decay=1e-4)

    def iteration(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(images)
        loss = loss_function(logits, labels)
        loss.backward()
        optimizer.step()

    return iteration
