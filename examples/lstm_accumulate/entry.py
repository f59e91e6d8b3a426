"""The medium LSTM language model of Zaremba et al. (2014), with gradient accumulation: several backward calls per step.

Shapes: tokens (N, 36), of which 35 are read and 35 predicted; vocabulary 10,000; two layers, 650 wide; 19,780,400
parameters. An iteration splits the batch into four micro-batches and adds up their gradients.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

VOCABULARY_SIZE = 10_000
SEQUENCE_LENGTH = 35
MICRO_BATCHES = 4


class LanguageModel(nn.Module):
    """Maps tokens (N, T) to the next tokens' logits (N, T, vocabulary)."""

    def __init__(self, width: int = 650, dropout: float = 0.5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY_SIZE, width)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, width, num_layers=2, dropout=dropout, batch_first=True)
        self.classifier = nn.Linear(width, VOCABULARY_SIZE)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.05, 0.05)

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = self.dropout(self.embedding(tokens))
        hidden, _ = self.lstm(embedded)
        return self.classifier(self.dropout(hidden))


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return LanguageModel().to(device())


def input_provider(batch_size: int = 16) -> tuple[Tensor]:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(VOCABULARY_SIZE, (batch_size, SEQUENCE_LENGTH + 1), generator=generator)
    return (tokens.to(device()),)


def iteration_provider(model: nn.Module) -> Callable[[Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def iteration(tokens: Tensor) -> None:
        optimizer.zero_grad()
        for micro_batch in tokens.chunk(MICRO_BATCHES):
            logits = model(micro_batch[:, :-1])
            loss = loss_function(logits.flatten(0, 1), micro_batch[:, 1:].flatten())
            share = len(micro_batch) / len(tokens)
            (share * loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
        optimizer.step()

    return iteration
