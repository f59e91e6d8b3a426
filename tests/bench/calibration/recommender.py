"""Tables of embeddings and a small network over their products, as recommenders have."""

import torch
from steps import Step, step
from torch import Tensor, nn


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(20000, 32, mode="sum") for _ in range(6))
        self.dense = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 32))
        self.top = nn.Sequential(nn.Linear(32 + 21, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, numbers: Tensor, ids: Tensor) -> Tensor:
        dense = self.dense(numbers)
        parts = [dense, *(table(ids[:, i]) for i, table in enumerate(self.tables))]
        features = torch.stack(parts, 1)
        products = features @ features.transpose(1, 2)
        i, j = torch.tril_indices(7, 7, -1)
        return self.top(torch.cat([dense, products[:, i, j]], 1)).squeeze(1)


def model_provider() -> nn.Module:
    return Recommender()


def input_provider(batch_size: int = 256) -> tuple[Tensor, Tensor, Tensor]:
    ids = torch.randint(20000, (batch_size, 6, 4))
    return torch.randn(batch_size, 13), ids, torch.randint(2, (batch_size,)).float()


def loss_of(model: nn.Module, numbers: Tensor, ids: Tensor, clicked: Tensor) -> Tensor:
    return nn.functional.binary_cross_entropy_with_logits(model(numbers, ids), clicked)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.Adagrad(model.parameters(), lr=0.01))
