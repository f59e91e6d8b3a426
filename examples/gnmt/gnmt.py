"""GNMT: Wu et al., "Google's Neural Machine Translation System" (2016), in MLPerf's form.

Four LSTM layers on each side (the paper has eight), 1024 wide, one embedding for both languages.
The bottom decoder layer asks the attention, whose context goes to every layer above it; so no
layer waits for another's next step, and each runs over the whole target in one call.

Source tokens (N, S) and decoder input tokens (N, T) become logits (N, T, vocabulary). Sequences
have a fixed length, so there is no padding and no mask.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class BahdanauAttention(nn.Module):
    """Additive attention (Bahdanau et al., ICLR 2015) with a weight-normalised score vector.

    score(q, k) = g * v / |v| . tanh(W q + U k + b). Queries (N, T, H) over keys (N, S, H), which
    are the values too, give contexts (N, T, H).
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.query_projection = nn.Linear(hidden_size, hidden_size, bias=False)
        self.key_projection = nn.Linear(hidden_size, hidden_size, bias=False)
        self.score_vector = nn.Parameter(torch.empty(hidden_size))
        self.score_scale = nn.Parameter(torch.empty(1))
        self.score_bias = nn.Parameter(torch.empty(hidden_size))

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        projected_queries = self.query_projection(queries).unsqueeze(2)
        projected_keys = self.key_projection(keys).unsqueeze(1)
        energies = torch.tanh(projected_queries + projected_keys + self.score_bias)
        direction = self.score_scale * self.score_vector / self.score_vector.norm()
        weights = functional.softmax(energies @ direction, dim=-1)
        return torch.bmm(weights, keys)


class Encoder(nn.Module):
    """Embedded source (N, S, H) to annotations (N, S, H); the first layer reads both ways."""

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.lstm1 = nn.LSTM(hidden_size, hidden_size, batch_first=True, bidirectional=True)
        self.lstm2 = nn.LSTM(2 * hidden_size, hidden_size, batch_first=True)
        self.lstm3 = nn.LSTM(hidden_size, hidden_size, batch_first=True)
        self.lstm4 = nn.LSTM(hidden_size, hidden_size, batch_first=True)

    def forward(self, embedded: Tensor) -> Tensor:
        hidden, _ = self.lstm1(self.dropout(embedded))
        hidden, _ = self.lstm2(self.dropout(hidden))
        for lstm in (self.lstm3, self.lstm4):
            output, _ = lstm(self.dropout(hidden))
            hidden = hidden + output
        return hidden


class Decoder(nn.Module):
    """Embedded target (N, T, H) and annotations (N, S, H) to logits (N, T, vocabulary)."""

    def __init__(self, vocabulary_size: int, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.lstm1 = nn.LSTM(hidden_size, hidden_size, batch_first=True)
        self.attention = BahdanauAttention(hidden_size)
        self.lstm2 = nn.LSTM(2 * hidden_size, hidden_size, batch_first=True)
        self.lstm3 = nn.LSTM(2 * hidden_size, hidden_size, batch_first=True)
        self.lstm4 = nn.LSTM(2 * hidden_size, hidden_size, batch_first=True)
        self.classifier = nn.Linear(hidden_size, vocabulary_size)

    def forward(self, embedded: Tensor, annotations: Tensor) -> Tensor:
        hidden, _ = self.lstm1(self.dropout(embedded))
        context = self.attention(hidden, annotations)
        hidden, _ = self.lstm2(self.dropout(torch.cat((hidden, context), dim=-1)))
        for lstm in (self.lstm3, self.lstm4):
            output, _ = lstm(self.dropout(torch.cat((hidden, context), dim=-1)))
            hidden = hidden + output
        return self.classifier(hidden)


class GNMT(nn.Module):
    """The whole model, trained with teacher forcing; 160,665,150 parameters by default."""

    def __init__(self, vocabulary_size: int = 32_317, hidden_size: int = 1024, dropout: float = 0.2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, hidden_size)
        self.encoder = Encoder(hidden_size, dropout)
        self.decoder = Decoder(vocabulary_size, hidden_size, dropout)
        self.initialize()

    def initialize(self) -> None:
        """Uniform weights; the attention starts with a score scale of 1 / sqrt(H) and no bias."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)
        attention = self.decoder.attention
        nn.init.constant_(attention.score_scale, attention.score_vector.numel() ** -0.5)
        nn.init.zeros_(attention.score_bias)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        annotations = self.encoder(self.embedding(source))
        return self.decoder(self.embedding(target), annotations)
