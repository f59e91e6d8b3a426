"""GPT-2 small training (Radford et al., 2019), with synthetic tokens.

Shapes: tokens (N, 33), of which 32 are read and 32 predicted (the paper's context is 1024); vocabulary 50,257;
124,439,808 parameters, with the positions of the full context. The optimizer is fused.
"""

from collections.abc import Callable

import torch
from gpt import GPT
from torch import Tensor, nn

VOCABULARY_SIZE = 50_257
SEQUENCE_LENGTH = 32


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return GPT(VOCABULARY_SIZE, context=1024).to(device())


def input_provider(batch_size: int = 2) -> tuple[Tensor]:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(VOCABULARY_SIZE, (batch_size, SEQUENCE_LENGTH + 1), generator=generator)
    return (tokens.to(device()),)


def iteration_provider(model: nn.Module) -> Callable[[Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)

    def iteration(tokens: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        loss = loss_function(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()

    return iteration
