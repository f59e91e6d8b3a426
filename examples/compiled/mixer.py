"""MLP-Mixer: Tolstikhin et al., "MLP-Mixer: An all-MLP Architecture for Vision" (NeurIPS 2021), as wide as S/32.

The paper's S/32 has 8 layers; `depth` says how many there are here.
"""

from torch import Tensor, nn


class MixerLayer(nn.Module):
    """Mixes tokens, then channels (Figure 1): (N, T, C) stays that shape."""

    def __init__(self, tokens: int, width: int, token_hidden: int, channel_hidden: int) -> None:
        super().__init__()
        self.token_norm = nn.LayerNorm(width)
        self.token_mlp = nn.Sequential(nn.Linear(tokens, token_hidden), nn.GELU(), nn.Linear(token_hidden, tokens))
        self.channel_norm = nn.LayerNorm(width)
        self.channel_mlp = nn.Sequential(nn.Linear(width, channel_hidden), nn.GELU(), nn.Linear(channel_hidden, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.token_mlp(self.token_norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mlp(self.channel_norm(x))


class Mixer(nn.Module):
    """Maps images (N, 3, 224, 224) to logits (N, num_classes)."""

    def __init__(self, depth: int, num_classes: int = 1000, width: int = 512) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, kernel_size=32, stride=32)
        self.layers = nn.Sequential(*(MixerLayer(7 * 7, width, 256, 2048) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = self.layers(x)
        return self.head(self.norm(x).mean(dim=1))
