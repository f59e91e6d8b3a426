"""A character-level LSTM: Karpathy, "The Unreasonable Effectiveness of Recurrent Neural Networks" (2015).

Shapes: text (N, 51), of which 50 characters are read and 50 predicted; 65 characters, as in Shakespeare's plays; two
layers, 512 wide; 4,269,121 parameters.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

CHARACTERS = 65
SEQUENCE_LENGTH = 50


class CharRNN(nn.Module):
    """Maps characters (N, T) to the next characters' logits (N, T, characters)."""

    def __init__(self, width: int = 512) -> None:
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.classifier = nn.Linear(width, CHARACTERS)

    def forward(self, text: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.embedding(text))
        return self.classifier(hidden)


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return CharRNN().to(device())


def input_provider(batch_size: int = 32) -> tuple[Tensor]:
    generator = torch.Generator().manual_seed(0)
    text = torch.randint(CHARACTERS, (batch_size, SEQUENCE_LENGTH + 1), generator=generator)
    return (text.to(device()),)


def iteration_provider(model: nn.Module) -> Callable[[Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)

    def iteration(text: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(text[:, :-1])
        loss = loss_function(logits.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 5.0)
        optimizer.step()

    return iteration
