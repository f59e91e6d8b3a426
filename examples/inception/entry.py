"""GoogLeNet (Inception v1) training on ImageNet shapes (Szegedy et al., CVPR 2015), with synthetic images.

Shapes: images (N, 3, 224, 224), labels (N,) in 1000 classes; 13,378,280 parameters with the two auxiliary heads, whose
losses count 0.3 each.
"""

from collections.abc import Callable

import torch
from googlenet import GoogLeNet
from torch import Tensor, nn


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return GoogLeNet().to(device())


def input_provider(batch_size: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, 224, 224, generator=generator)
    labels = torch.randint(1000, (batch_size,), generator=generator)
    return images.to(device()), labels.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def iteration(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        logits, auxiliary1, auxiliary2 = model(images)
        loss = loss_function(logits, labels)
        loss = loss + 0.3 * loss_function(auxiliary1, labels)
        loss = loss + 0.3 * loss_function(auxiliary2, labels)
        loss.backward()
        optimizer.step()

    return iteration
