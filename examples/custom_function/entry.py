"""EfficientNet-B0 training (Tan, Le, ICML 2019), its activation an `autograd.Function` in Python that saves memory.

Shapes: images (N, 3, 224, 224), labels (N,) in 1000 classes; 5,288,548 parameters.
"""

from collections.abc import Callable

import torch
from efficientnet import EfficientNet
from torch import Tensor, nn


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return EfficientNet().to(device())


def input_provider(batch_size: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, 224, 224, generator=generator)
    labels = torch.randint(1000, (batch_size,), generator=generator)
    return images.to(device()), labels.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9, momentum=0.9, weight_decay=1e-5)

    def iteration(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(images)
        loss = loss_function(logits, labels)
        loss.backward()
        optimizer.step()

    return iteration
