"""Deep Speech 2: Amodei et al., "Deep Speech 2: End-to-End Speech Recognition in English and Mandarin" (ICML 2016).

Two convolutions over the spectrogram, five bidirectional GRU layers whose directions are added up, and a classifier of
characters for the CTC loss; batch normalisation before each layer but the first (section 3.2), over whole sequences.
"""

from torch import Tensor, nn


class GRULayer(nn.Module):
    """Features (N, T, in_size), normalised or not, to the sum of both directions (N, T, width)."""

    def __init__(self, in_size: int, width: int, normalise: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(in_size) if normalise else nn.Identity()
        self.gru = nn.GRU(in_size, width, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x.transpose(1, 2)).transpose(1, 2)
        both, _ = self.gru(x)
        forwards, backwards = both.chunk(2, dim=-1)
        return forwards + backwards


class DeepSpeech2(nn.Module):
    """Maps spectrograms (N, 1, 161, T) to log probabilities (T / 2, N, characters), as `CTCLoss` takes them."""

    def __init__(self, characters: int, width: int = 800, layers: int = 5) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=(41, 11), stride=(2, 2), padding=(20, 5), bias=False),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20, inplace=True),
            nn.Conv2d(32, 32, kernel_size=(21, 11), stride=(2, 1), padding=(10, 5), bias=False),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20, inplace=True),
        )
        sizes = [32 * 41] + [width] * (layers - 1)
        self.recurrent = nn.ModuleList(GRULayer(size, width, normalise=i > 0) for i, size in enumerate(sizes))
        self.norm = nn.BatchNorm1d(width)
        self.classifier = nn.Linear(width, characters, bias=False)

    def forward(self, spectrograms: Tensor) -> Tensor:
        x = self.convolutions(spectrograms)
        x = x.flatten(1, 2).transpose(1, 2)  # (N, T / 2, channels * frequencies)
        for layer in self.recurrent:
            x = layer(x)
        x = self.norm(x.transpose(1, 2)).permute(2, 0, 1)
        return self.classifier(x).log_softmax(dim=-1)
