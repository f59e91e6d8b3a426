"""After PyTorch's example word_language_model: an LSTM, truncated backpropagation, clipped gradients; no DataLoader."""

from __future__ import annotations

import torch
from common import STEPS, print_digest
from torch import nn

WORDS, LENGTH, BATCH = 500, 16, 8


class RNNModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Embedding(WORDS, 64)
        self.rnn = nn.LSTM(64, 64, 2, dropout=0.2)
        self.decoder = nn.Linear(64, WORDS)

    def forward(self, words, hidden):
        output, hidden = self.rnn(self.encoder(words), hidden)
        return self.decoder(output).view(-1, WORDS), hidden


def main() -> None:
    torch.manual_seed(1)
    model = RNNModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    words = torch.randint(0, WORDS, (LENGTH * 40 + 1, BATCH))
    done = 0
    while done < STEPS:
        hidden = (torch.zeros(2, BATCH, 64), torch.zeros(2, BATCH, 64))
        for i in range(0, len(words) - 1, LENGTH):
            data, targets = words[i : i + LENGTH], words[i + 1 : i + 1 + LENGTH].view(-1)
            optimizer.zero_grad()
            hidden = tuple(state.detach() for state in hidden)
            output, hidden = model(data, hidden)
            loss = nn.functional.cross_entropy(output, targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
            done += 1
            if done == STEPS:
                break
    print_digest(model)


if __name__ == "__main__":
    main()
