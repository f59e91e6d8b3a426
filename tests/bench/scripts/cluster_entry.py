"""The step of one process of a job: its model is named by the environment variable CLUSTER_MODEL."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
import ddp_models

torch.set_num_threads(1)


BATCHES = {"mlp": 64, "cnn": 16, "transformer": 4, "deep": 64}
BATCH = BATCHES[os.environ["CLUSTER_MODEL"]]


def made() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(1)
    return ddp_models.MODELS[os.environ["CLUSTER_MODEL"]]()


def model_provider() -> nn.Module:
    return made()[0]


def input_provider(batch_size: int = BATCH) -> tuple[Tensor, Tensor]:
    shape = made()[1].shape[1:]
    return torch.randn(batch_size, *shape), torch.randint(0, 10, (batch_size,))


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def iteration(x: Tensor, y: Tensor) -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return iteration
