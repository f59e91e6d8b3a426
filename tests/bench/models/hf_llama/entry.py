"""A small Llama of Hugging Face transformers that predicts the next token, from a configuration: random weights.

Shapes: tokens (N, 128); 4 layers of width 256 with 8 heads of queries and 4 of keys and values; 4,999,424 parameters.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY = 4000
LENGTH = 128


def model_provider() -> nn.Module:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=256,
            num_hidden_layers=4,
            num_attention_heads=8,
            num_key_value_heads=4,
            intermediate_size=704,
            max_position_embeddings=LENGTH,
            use_cache=False,
        )
    )


def input_provider(batch_size: int = 8) -> tuple[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (torch.randint(VOCABULARY, (batch_size, LENGTH), generator=generator),)


def iteration_provider(model: nn.Module) -> Callable[[Tensor], None]:
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)

    def iteration(tokens: Tensor) -> None:
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()

    return iteration
