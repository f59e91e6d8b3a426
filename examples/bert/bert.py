"""BERT base: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (NAACL 2019), the masked language
model without next-sentence prediction: 12 post-norm layers, 768 wide, 12 heads.
"""

import torch
from torch import Tensor, nn


class MaskedHead(nn.Module):
    """Hidden states (..., C) of masked positions to logits (..., vocabulary); the matrix is the embedding's."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        width = embedding.embedding_dim
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.classifier = nn.Linear(width, embedding.num_embeddings)
        self.classifier.weight = embedding.weight

    def forward(self, hidden: Tensor) -> Tensor:
        return self.classifier(self.transform(hidden))


class BERT(nn.Module):
    """Tokens (N, T) and masked positions (N, M), T up to `context`, to logits (N, M, vocabulary)."""

    def __init__(
        self, vocabulary_size: int, context: int = 512, width: int = 768, depth: int = 12, heads: int = 12
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary_size, width)
        self.positions = nn.Embedding(context, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)
        layers = [
            nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.1, activation="gelu", batch_first=True)
            for _ in range(depth)
        ]
        self.layers = nn.ModuleList(layers)
        self.apply(initialize)
        self.head = MaskedHead(self.tokens)

    def forward(self, tokens: Tensor, masked: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        segments = torch.zeros_like(tokens)
        x = self.tokens(tokens) + self.positions(positions) + self.segments(segments)
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x)
        rows = torch.arange(len(tokens), device=tokens.device)[:, None]
        return self.head(x[rows, masked])


def initialize(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
