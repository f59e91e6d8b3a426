"""The network of AlphaGo Zero (Silver et al., Nature 2017): a residual tower with a policy and a value."""

from torch import Tensor, nn
from torch.nn import functional

PLANES, BLOCKS, CHANNELS, POINTS = 17, 6, 64, 81


def convolution(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False), nn.BatchNorm2d(outputs))


class Block(nn.Module):
    """Maps (N, CHANNELS, 9, 9) to the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.first = convolution(CHANNELS, CHANNELS, 3)
        self.second = convolution(CHANNELS, CHANNELS, 3)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.first(x))
        return functional.relu(x + self.second(inner))


class PolicyAndValue(nn.Module):
    """Maps positions (N, 17, 9, 9) to the logits of moves (N, moves) and the value (N,) between -1 and 1."""

    def __init__(self, moves: int) -> None:
        super().__init__()
        self.stem = convolution(PLANES, CHANNELS, 3)
        self.tower = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.policy = convolution(CHANNELS, 2, 1)
        self.move = nn.Linear(2 * POINTS, moves)
        self.value = convolution(CHANNELS, 1, 1)
        self.hidden = nn.Linear(POINTS, 64)
        self.outcome = nn.Linear(64, 1)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        x = self.tower(functional.relu(self.stem(positions)))
        logits = self.move(functional.relu(self.policy(x)).flatten(1))
        hidden = functional.relu(self.hidden(functional.relu(self.value(x)).flatten(1)))
        return logits, self.outcome(hidden).tanh().squeeze(1)
