"""The Transformer: Vaswani et al., "Attention Is All You Need" (NeurIPS 2017), the base model of Table 3.

Six layers on each side, 512 wide, 8 heads; one matrix embeds both languages and classifies (section 3.4). Sentences
have a fixed length, so there is no padding and no mask but the decoder's causal one.
"""

import math

import torch
from torch import Tensor, nn


def sinusoids(length: int, width: int) -> Tensor:
    """Positions (length, width), section 3.5: sines in the even columns, cosines in the odd ones."""
    positions = torch.arange(length, dtype=torch.float32)[:, None]
    frequencies = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    angles = positions * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


class Transformer(nn.Module):
    """Source tokens (N, S) and decoder input tokens (N, T) become logits (N, T, vocabulary)."""

    def __init__(
        self, vocabulary_size: int, max_length: int = 256, width: int = 512, layers: int = 6, heads: int = 8
    ) -> None:
        super().__init__()
        self.scale = math.sqrt(width)
        self.embedding = nn.Embedding(vocabulary_size, width)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        self.register_buffer("positions", sinusoids(max_length, width))
        self.dropout = nn.Dropout(0.1)
        self.transformer = nn.Transformer(
            width, heads, layers, layers, dim_feedforward=4 * width, dropout=0.1, batch_first=True
        )
        self.classifier = nn.Linear(width, vocabulary_size, bias=False)
        self.classifier.weight = self.embedding.weight

    def embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.embedding(tokens) * self.scale + self.positions[: tokens.shape[1]])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        hidden = self.transformer(self.embed(source), self.embed(target), tgt_mask=causal, tgt_is_causal=True)
        return self.classifier(hidden)
