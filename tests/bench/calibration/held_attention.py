"""A recurrent translator with attention over its encoder, trained with teacher forcing."""

import torch
from steps import Step, step
from torch import Tensor, nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(600, 64), nn.Embedding(600, 64)
        self.encoder, self.decoder = nn.GRU(64, 96, batch_first=True), nn.GRU(64, 96, batch_first=True)
        self.head = nn.Linear(192, 600)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory, last = self.encoder(self.source(source))
        states, _ = self.decoder(self.target(target), last)
        weights = torch.softmax(states @ memory.transpose(1, 2), -1)
        return self.head(torch.cat([states, weights @ memory], -1))


def model_provider() -> nn.Module:
    return Attention()


def input_provider(batch_size: int = 24) -> tuple[Tensor, Tensor, Tensor]:
    words = torch.randint(600, (batch_size, 17))
    return torch.randint(600, (batch_size, 20)), words[:, :-1], words[:, 1:]


def loss_of(model: nn.Module, source: Tensor, target: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(model(source, target).flatten(0, 1), labels.flatten())


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.Adam(model.parameters(), lr=1e-3))
