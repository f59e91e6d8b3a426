"""Boards of 9 x 9 on which stones are placed and never taken: the network, not the rules, is what costs."""

import torch
from torch import Tensor

SIZE = 9
MOVES = SIZE * SIZE + 1  # the last one is a pass
KEPT = 8  # positions that the network sees


class Games:
    """N games side by side. Black (1) and white (-1) move in turn."""

    def __init__(self, count: int, device: torch.device) -> None:
        self.player = 1
        self.history = [torch.zeros(count, SIZE, SIZE, device=device)] * KEPT  # the newest first

    def positions(self) -> Tensor:
        """(N, 17, SIZE, SIZE): the player's stones in the last positions, the other's, and whose move it is."""
        boards = torch.stack(self.history, dim=1)
        turn = torch.full_like(boards[:, :1], float(self.player == 1))
        return torch.cat(((boards == self.player).float(), (boards == -self.player).float(), turn), dim=1)

    def are_legal(self) -> Tensor:
        """(N, MOVES): free points, and the pass."""
        is_free = self.history[0].flatten(1) == 0
        return torch.cat((is_free, torch.ones_like(is_free[:, :1])), dim=1)

    def play(self, moves: Tensor) -> None:
        """One move (N,) in each game."""
        points = torch.nn.functional.one_hot(moves, MOVES)[:, :-1].unflatten(1, (SIZE, SIZE))
        self.history = [self.history[0] + self.player * points, *self.history[:-1]]
        self.player = -self.player

    def outcomes_for(self, moves: int) -> Tensor:
        """(moves * N,): who is ahead now, as the player of each of the last moves sees it: 1, 0 or -1."""
        ahead = self.history[0].sum(dim=(1, 2)).sign()
        players = [self.player * (-1) ** (moves - i) for i in range(moves)]
        return torch.cat([player * ahead for player in players])
