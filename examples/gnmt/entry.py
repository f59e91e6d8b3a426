"""GNMT training (Wu et al., 2016; MLPerf's form), with synthetic sentences of fixed length.

Shapes: source (N, 25), target (N, 26), a start token and the 25 tokens to predict; vocabulary
32,317; 160,665,150 parameters.
"""

from collections.abc import Callable

import torch
from gnmt import GNMT
from torch import Tensor, nn

VOCABULARY_SIZE = 32_317
SEQUENCE_LENGTH = 25


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return GNMT(VOCABULARY_SIZE).to(device())


def input_provider(batch_size: int = 8) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(VOCABULARY_SIZE, (batch_size, SEQUENCE_LENGTH), generator=generator)
    target = torch.randint(VOCABULARY_SIZE, (batch_size, SEQUENCE_LENGTH + 1), generator=generator)
    return source.to(device()), target.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def iteration(source: Tensor, target: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(source, target[:, :-1])
        loss = loss_function(logits.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
        optimizer.step()

    return iteration
