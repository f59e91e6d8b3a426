"""A transformer encoder for sentences, built from PyTorch's own layers."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


class SentenceClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5000, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3)
        self.head = nn.Linear(128, 10)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.encoder(self.embedding(words)).mean(1))


def model_provider() -> nn.Module:
    return SentenceClassifier()


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor]:
    return labelled(torch.randint(5000, (batch_size, 48)))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.AdamW(model.parameters(), lr=1e-4))
