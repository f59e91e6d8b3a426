"""A game for the actor-critic learner, made of noise and a ball."""

import torch
from torch import Tensor

ACTIONS = 6
FRAMES, SIZE = 4, 84
COLUMN = SIZE // ACTIONS


class Environments:
    """N games side by side. A frame is noise and a bright column where the ball is; the ball moves by chance."""

    def __init__(self, count: int, device: torch.device) -> None:
        self.generator = torch.Generator(device).manual_seed(0)
        self.observations = torch.zeros(count, FRAMES, SIZE, SIZE, device=device)
        self.balls = torch.zeros(count, dtype=torch.int64, device=device)
        self.show()

    def step(self, actions: Tensor) -> Tensor:
        """Plays one action (N,) in each game; the rewards (N,), one where the ball was, else zero."""
        rewards = (actions == self.balls).float()
        moves = torch.randint(-1, 2, self.balls.shape, generator=self.generator, device=self.balls.device)
        self.balls = (self.balls + moves) % ACTIONS
        self.show()
        return rewards

    def show(self) -> None:
        """Appends a frame and forgets the oldest."""
        shape = (len(self.balls), 1, SIZE, SIZE)
        frame = 0.1 * torch.rand(shape, generator=self.generator, device=self.balls.device)
        columns = torch.arange(SIZE, device=self.balls.device) // COLUMN
        frame += columns == self.balls[:, None, None, None]
        self.observations = torch.cat((self.observations[:, 1:], frame), dim=1)
