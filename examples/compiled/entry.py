"""MLP-Mixer training (Tolstikhin et al., NeurIPS 2021) under `torch.compile`.

Shapes: images (N, 3, 224, 224), labels (N,) in 1000 classes; as wide as S/32, and two of its eight layers, to keep the
compilation short; 6,341,706 parameters. The batch is a dynamic dimension, so that not every batch size is compiled
anew. Needs a C++ compiler.
"""

from collections.abc import Callable

import torch
from mixer import Mixer
from torch import Tensor, nn


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return Mixer(depth=2).to(device())


def input_provider(batch_size: int = 8) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(batch_size, 3, 224, 224, generator=generator)
    labels = torch.randint(1000, (batch_size,), generator=generator)
    return images.to(device()), labels.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    compiled = torch.compile(model, dynamic=True)
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def iteration(images: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        logits = compiled(images)
        loss = loss_function(logits, labels)
        loss.backward()
        optimizer.step()

    return iteration
