"""A small OPT of Hugging Face transformers, fine-tuned by LoRA with PEFT: the weights of the model are frozen.

Shapes: tokens (N, 64); 6 layers of width 320 with 5 heads; adapters of rank 8 on queries and values:
61,440 of 8,760,960 parameters are trained.
"""

from collections.abc import Callable

import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch import Tensor, nn
from transformers import OPTConfig, OPTForCausalLM

VOCABULARY = 4000
LENGTH = 64


def model_provider() -> nn.Module:
    model = OPTForCausalLM(
        OPTConfig(
            vocab_size=VOCABULARY,
            hidden_size=320,
            word_embed_proj_dim=320,
            num_hidden_layers=6,
            num_attention_heads=5,
            ffn_dim=1280,
            max_position_embeddings=LENGTH,
            use_cache=False,
        )
    )
    adapters = LoraConfig(
        task_type=TaskType.CAUSAL_LM, r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["q_proj", "v_proj"]
    )
    return get_peft_model(model, adapters)


def input_provider(batch_size: int = 16) -> tuple[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (torch.randint(VOCABULARY, (batch_size, LENGTH), generator=generator),)


def iteration_provider(model: nn.Module) -> Callable[[Tensor], None]:
    model.train()
    adapters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(adapters, lr=1e-3)

    def iteration(tokens: Tensor) -> None:
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()

    return iteration
