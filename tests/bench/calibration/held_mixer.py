"""An MLP mixer over the patches of images."""

import torch
from steps import Step, classify, labelled, step
from torch import Tensor, nn


class Mixer(nn.Module):
    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_tokens = nn.Sequential(nn.Linear(tokens, 64), nn.GELU(), nn.Linear(64, tokens))
        self.over_width = nn.Sequential(nn.Linear(width, 256), nn.GELU(), nn.Linear(256, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.over_tokens(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.over_width(self.second(x))


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 128, 8, stride=8)
        self.body = nn.Sequential(*(Mixer(64, 128) for _ in range(3)))
        self.head = nn.Linear(128, 10)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.body(self.patches(images).flatten(2).transpose(1, 2)).mean(1))


def model_provider() -> nn.Module:
    return Classifier()


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor]:
    return labelled(torch.randn(batch_size, 3, 64, 64))


def iteration_provider(model: nn.Module) -> Step:
    return step(model, classify, torch.optim.AdamW(model.parameters(), lr=1e-3))
