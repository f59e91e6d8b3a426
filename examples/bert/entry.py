"""BERT base, masked language modelling (Devlin et al., NAACL 2019), with synthetic tokens.

Shapes: tokens (N, 64) (the paper's 128 for most steps), of which 10 are masked and predicted (N, 10); vocabulary
30,522; 109,514,298 parameters.
"""

from collections.abc import Callable

import torch
from bert import BERT
from torch import Tensor, nn

VOCABULARY_SIZE = 30_522
SEQUENCE_LENGTH = 64
MASKED = 10
MASK_TOKEN = 103


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider() -> nn.Module:
    return BERT(VOCABULARY_SIZE).to(device())


def input_provider(batch_size: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(VOCABULARY_SIZE, (batch_size, SEQUENCE_LENGTH), generator=generator)
    masked = torch.rand(batch_size, SEQUENCE_LENGTH, generator=generator).argsort(dim=1)[:, :MASKED]
    labels = tokens.gather(1, masked)
    tokens = tokens.scatter(1, masked, MASK_TOKEN)
    return tokens.to(device()), masked.to(device()), labels.to(device())


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor, Tensor], None]:
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)

    def iteration(tokens: Tensor, masked: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        logits = model(tokens, masked)
        loss = loss_function(logits.flatten(0, 1), labels.flatten())
        loss.backward()
        optimizer.step()

    return iteration
