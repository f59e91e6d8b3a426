"""A small decoder with attention written by hand: a matrix of scores, a mask, softmax."""

import math

import torch
from steps import Step, step
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(n, length, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.first(x))
        return x + self.mlp(self.second(x))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 144)
        self.blocks = nn.Sequential(*(Block(144, 4) for _ in range(3)))
        self.head = nn.Linear(144, 1000)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.blocks(self.embedding(words)))


def model_provider() -> nn.Module:
    return Decoder()


def input_provider(batch_size: int = 8) -> tuple[Tensor, Tensor]:
    return torch.randint(1000, (batch_size, 64)), torch.randint(1000, (batch_size, 64))


def loss_of(model: nn.Module, words: Tensor, following: Tensor) -> Tensor:
    return F.cross_entropy(model(words).flatten(0, 1), following.flatten())


def iteration_provider(model: nn.Module) -> Step:
    return step(model, loss_of, torch.optim.AdamW(model.parameters(), lr=3e-4))
