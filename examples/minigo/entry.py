"""A learner of Go that plays against itself, as MiniGo and AlphaGo Zero (Silver et al., Nature 2017) do, without their
tree search: it plays a few moves on N boards, then learns from them.

Shapes: positions (N, 17, 9, 9), 82 moves (one of them a pass); 472,701 parameters. The games are a simplification:
stones are placed on free points and never taken, and who has more of them wins. With 6 blocks of 64 channels the
network is smaller than MiniGo's.
"""

from collections.abc import Callable

import torch
from games import MOVES, Games
from minigo import PolicyAndValue
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional

PLAYED_MOVES = 4


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return PolicyAndValue(MOVES).to(device())


def input_provider(batch_size: int = 8) -> tuple[Games]:
    return (Games(batch_size, device()),)


def iteration_provider(model: nn.Module) -> Callable[[Games], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def play(games: Games) -> tuple[Tensor, Tensor, Tensor]:
        """Positions (PLAYED_MOVES * N, 17, 9, 9), the moves that were made, and who was ahead at the end."""
        positions, moves = [], []
        with torch.no_grad():
            for _ in range(PLAYED_MOVES):
                positions.append(games.positions())
                logits, _ = model(positions[-1])
                moves.append(Categorical(logits=logits.masked_fill(~games.are_legal(), -torch.inf)).sample())
                games.play(moves[-1])
        outcomes = games.outcomes_for(PLAYED_MOVES)
        return torch.cat(positions), torch.cat(moves), outcomes

    def iteration(games: Games) -> None:
        model.eval()
        positions, moves, outcomes = play(games)
        model.train()
        logits, values = model(positions)
        loss = functional.cross_entropy(logits, moves) + functional.mse_loss(values, outcomes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return iteration
