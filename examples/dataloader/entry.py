"""A small image classifier (CIFAR's ResNet-20, He et al., CVPR 2016) fed by a DataLoader with worker processes.

Shapes: images (N, 3, 32, 32), labels (N,) in 10 classes; 272,474 parameters. Each image is decoded from 256x256 pixels
and cropped in NumPy by one of two workers. The input provider returns an endless iterator; the iteration takes the next
batch from it, and waits where the workers are slower than the model.
"""

from collections.abc import Callable, Iterator

import torch
from images import StoredImages
from resnet20 import ResNet20
from torch import Tensor, nn
from torch.utils.data import DataLoader, RandomSampler

Batches = Iterator[tuple[Tensor, Tensor]]
DATASET = StoredImages(count=128, stored_size=256, size=32, num_classes=10)


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return ResNet20().to(device())


def input_provider(batch_size: int = 64) -> tuple[Batches]:
    # Drawn with replacement, so that the epoch never ends.
    endless = RandomSampler(DATASET, replacement=True, num_samples=2**40)
    loader = DataLoader(DATASET, batch_size=batch_size, sampler=endless, num_workers=2)
    return (iter(loader),)


def iteration_provider(model: nn.Module) -> Callable[[Batches], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    def iteration(batches: Batches) -> None:
        images, labels = next(batches)
        images, labels = images.to(device()), labels.to(device())
        optimizer.zero_grad()
        loss = loss_function(model(images), labels)
        loss.backward()
        optimizer.step()

    return iteration
