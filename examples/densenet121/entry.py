"""DenseNet-121 training on ImageNet shapes (Huang et al., CVPR 2017), with synthetic images.

Shapes: images (N, 3, 224, 224), labels (N,) in 1000 classes; 7,978,856 parameters. Nesterov momentum and weight decay
are the paper's; the learning rate is its 0.1 for 256 images, scaled to a small batch.
"""

from collections.abc import Callable

import torch
from densenet import DenseNet121
from torch import Tensor, nn


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return DenseNet121().to(device())


def input_provider(batch_size: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, 224, 224, generator=generator)
    labels = torch.randint(1000, (batch_size,), generator=generator)
    return images.to(device()), labels.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True, weight_decay=1e-4)

    def iteration(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(images)
        loss = loss_function(logits, labels)
        loss.backward()
        optimizer.step()

    return iteration
