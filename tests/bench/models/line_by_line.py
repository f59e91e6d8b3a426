"""A GPT, a ResNet and an LSTM of one operation a line, for `./dev bench compiled`."""

from __future__ import annotations

import torch
from torch import nn

functional = nn.functional


class GptBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.second_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        hidden = self.norm(x)
        hidden = self.qkv(hidden)
        parts = [part.view(batch, length, self.heads, -1).transpose(1, 2) for part in hidden.chunk(3, -1)]
        seen = functional.scaled_dot_product_attention(*parts, is_causal=True)
        seen = seen.transpose(1, 2).reshape(batch, length, width)
        seen = self.out(seen)
        x = x + seen
        hidden = self.second_norm(x)
        hidden = self.up(hidden)
        hidden = functional.gelu(hidden)
        hidden = self.down(hidden)
        return x + hidden


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 192)
        self.blocks = nn.ModuleList(GptBlock(192, 6) for _ in range(4))
        self.norm = nn.LayerNorm(192)
        self.head = nn.Linear(192, 1000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x)

    @staticmethod
    def inputs() -> torch.Tensor:
        return torch.randint(0, 1000, (8, 128))


class ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        y = self.first_norm(y)
        y = functional.relu(y)
        y = self.second(y)
        y = self.second_norm(y)
        y = y + x
        return functional.relu(y)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.blocks = nn.Sequential(*(ResidualBlock(32) for _ in range(4)))
        self.head = nn.Linear(32, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.stem(images)
        x = self.blocks(x)
        x = x.mean((2, 3))
        return self.head(x)

    @staticmethod
    def inputs() -> torch.Tensor:
        return torch.randn(32, 3, 32, 32)


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(500, 128)
        self.cell = nn.LSTMCell(128, 256)
        self.head = nn.Linear(256, 500)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        hidden = x.new_zeros(x.shape[0], 256)
        state = hidden
        outputs = []
        for step in range(x.shape[1]):
            hidden, state = self.cell(x[:, step], (hidden, state))
            outputs.append(hidden)
        y = torch.stack(outputs, 1)
        return self.head(y)

    @staticmethod
    def inputs() -> torch.Tensor:
        return torch.randint(0, 500, (32, 24))
