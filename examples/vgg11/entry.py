"""VGG-11 training on ImageNet shapes (Simonyan, Zisserman, ICLR 2015), with synthetic images.

Shapes: images (N, 3, 224, 224), labels (N,) in 1000 classes; 132,863,336 parameters, nine in ten of them in the fully
connected layers. Momentum and weight decay are the paper's; the learning rate is its 0.01 for 256 images, scaled to a
small batch.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from vgg import VGG11


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return VGG11().to(device())


def input_provider(batch_size: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, 224, 224, generator=generator)
    labels = torch.randint(1000, (batch_size,), generator=generator)
    return images.to(device()), labels.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, weight_decay=5e-4)

    def iteration(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(images)
        loss = loss_function(logits, labels)
        loss.backward()
        optimizer.step()

    return iteration
