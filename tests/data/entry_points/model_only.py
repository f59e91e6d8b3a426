from torch import nn


class Encoder(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.first = nn.Linear(size, 64)


class AutoEncoder(nn.Module):
    def __init__(self, size: int, depth=3, *, bias=True):
        super().__init__()
        self.encoder = Encoder(size)
