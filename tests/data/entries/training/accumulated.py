"""Several backward calls, two optimizers (foreach and fused), shared weights, and an evaluation inside the step."""

import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 128)
        self.mix = nn.Linear(128, 128)
        self.out = nn.Linear(128, 500, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        x = self.embed(tokens)  # embed
        x = torch.tanh(self.mix(x))  # mix
        return self.out(x)  # out


def model_provider():
    return Tied()


def input_provider(batch_size=32):
    return torch.randint(500, (batch_size, 16)), torch.randint(500, (batch_size, 16))


def iteration_provider(model):
    first = torch.optim.Adam([model.embed.weight], foreach=True)
    second = torch.optim.AdamW(model.mix.parameters(), fused=True)

    def iteration(tokens, targets):
        first.zero_grad()
        second.zero_grad()
        for x, y in zip(tokens.chunk(4), targets.chunk(4), strict=True):
            logits = model(x)  # model
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()) / 4  # loss
            loss.backward()  # backward
        first.step()  # first
        second.step()  # second
        with torch.no_grad():
            model(tokens[:4]).argmax(-1)  # evaluation

    return iteration
