"""A classifier of sentences by convolutions of several widths over embeddings."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn
from torch.nn import functional as F


class Filters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(5000, 100)
        self.filters = nn.ModuleList(nn.Conv1d(100, 80, width) for width in (3, 4, 5))
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(240, 5))

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words).transpose(1, 2)
        return self.head(torch.cat([F.relu(conv(x)).amax(2) for conv in self.filters], 1))


def model_provider() -> nn.Module:
    return Filters()


def input_provider(batch_size: int = 48) -> tuple[Tensor, Tensor]:
    return labelled(torch.randint(5000, (batch_size, 60)), 5)


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.Adadelta(model.parameters()))
