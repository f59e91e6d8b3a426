"""A language model trained by scheduled sampling (Bengio et al., NeurIPS 2015): each word that it reads is the true one
or, by chance, the one that it predicted, so that its LSTM advances word by word.

Shapes: words (N, 20) of a vocabulary of 2,000; 646,096 parameters.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

WORDS, WIDTH, LENGTH = 2000, 128, 20
OWN_WORDS = 0.25  # the share of the words that are the model's own


class Decoder(nn.Module):
    """Maps words (N, LENGTH) to logits (N, LENGTH - 1, WORDS) of those that follow."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.classifier = nn.Linear(WIDTH, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        state, read, logits = None, words[:, 0], []
        for position in range(1, words.shape[1]):
            hidden, state = self.lstm(self.embedding(read).unsqueeze(1), state)
            logits.append(self.classifier(hidden.squeeze(1)))
            is_own = torch.rand(len(words), device=words.device) < OWN_WORDS
            read = torch.where(is_own, logits[-1].argmax(1), words[:, position])
        return torch.stack(logits, dim=1)


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return Decoder().to(device())


def input_provider(batch_size: int = 4) -> tuple[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (torch.randint(WORDS, (batch_size, LENGTH), generator=generator).to(device()),)


def iteration_provider(model: nn.Module) -> Callable[[Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def iteration(words: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(words)
        loss = loss_function(logits.flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return iteration
