"""ViT-S/16 training (Dosovitskiy et al., ICLR 2021) with activation checkpointing (Chen et al., 2016).

Shapes: images (N, 3, 224, 224), labels (N,) in 1000 classes; 22,050,664 parameters. Every second of the 12 blocks runs
under `torch.utils.checkpoint`: less memory for more time.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from vit import VisionTransformer


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return VisionTransformer().to(device())


def input_provider(batch_size: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, 224, 224, generator=generator)
    labels = torch.randint(1000, (batch_size,), generator=generator)
    return images.to(device()), labels.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)

    def iteration(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(images)
        loss = loss_function(logits, labels)
        loss.backward()
        optimizer.step()

    return iteration
