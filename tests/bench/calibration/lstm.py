"""A language model of words: embeddings, two layers of LSTM, a vocabulary of 2,000."""

import torch
from steps import Step, step
from torch import Tensor, nn
from torch.nn import functional as F


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2000, 128)
        self.lstm = nn.LSTM(128, 128, num_layers=2, dropout=0.2)
        self.head = nn.Linear(128, 2000)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(words))[0])


def model_provider() -> nn.Module:
    return Words()


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor]:
    return torch.randint(2000, (batch_size, 24)), torch.randint(2000, (batch_size, 24))


def loss_of(model: nn.Module, words: Tensor, following: Tensor) -> Tensor:
    return F.cross_entropy(model(words.t()).flatten(0, 1), following.t().flatten())


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.SGD(model.parameters(), lr=1.0))
