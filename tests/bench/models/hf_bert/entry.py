"""A small BERT of Hugging Face transformers that classifies sequences, from a configuration: random weights.

Shapes: tokens (N, 64), attention mask (N, 64), labels (N,); 4 layers of width 256 with 4 heads; 4,266,754 parameters.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification

VOCABULARY = 4000
LENGTH = 64


def model_provider() -> nn.Module:
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=256,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=1024,
            max_position_embeddings=LENGTH,
        )
    )


def input_provider(batch_size: int = 16) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(VOCABULARY, (batch_size, LENGTH), generator=generator)
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (batch_size, 1), generator=generator)
    mask = (torch.arange(LENGTH) < lengths).long()
    labels = torch.randint(2, (batch_size,), generator=generator)
    return tokens, mask, labels


def iteration_provider(model: nn.Module) -> Callable[[Tensor, Tensor, Tensor], None]:
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)

    def iteration(tokens: Tensor, mask: Tensor, labels: Tensor) -> None:
        optimizer.zero_grad()
        output = model(input_ids=tokens, attention_mask=mask, labels=labels)
        output.loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return iteration
