"""Transformer training (Vaswani et al., NeurIPS 2017), with synthetic sentences of fixed length.

Shapes: source (N, 25), target (N, 26), a start token and the 25 tokens to predict; vocabulary 37,000; 63,084,544
parameters. Optimizer, schedule and label smoothing are the paper's.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformer import Transformer

VOCABULARY_SIZE = 37_000
SEQUENCE_LENGTH = 25
WIDTH = 512
WARMUP_STEPS = 4000


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return Transformer(VOCABULARY_SIZE, width=WIDTH).to(device())


def input_provider(batch_size: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(VOCABULARY_SIZE, (batch_size, SEQUENCE_LENGTH), generator=generator)
    target = torch.randint(VOCABULARY_SIZE, (batch_size, SEQUENCE_LENGTH + 1), generator=generator)
    return source.to(device()), target.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=WIDTH**-0.5, betas=(0.9, 0.98), eps=1e-9, foreach=True)
    # Equation 3: the rate rises for WARMUP_STEPS, then falls with the root of the step.
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) ** -0.5, (step + 1) * WARMUP_STEPS**-1.5)
    )

    def iteration(source: Tensor, target: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(source, target[:, :-1])
        loss = loss_function(logits.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        schedule.step()

    return iteration
