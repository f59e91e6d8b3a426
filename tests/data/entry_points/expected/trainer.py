"""Entry point for Ridgeline, from trainer.py: a model, its input and one training iteration.

Importing the script would train, so what it needs is copied here.
"""

import torch
from transformers import AutoModelForCausalLM, TrainingArguments
from transformers import AutoConfig
from transformers import Trainer

model_name = "gpt2"


def model_provider():
    return AutoModelForCausalLM.from_pretrained(model_name)


def input_provider(batch_size=4):
    config = AutoConfig.from_pretrained(model_name)
    length = min(getattr(config, "max_position_embeddings", 128), 128)  # guessed: at most 128 tokens
    input_ids = torch.randint(config.vocab_size, (batch_size, length))
    batch = {
        "input_ids": input_ids,
        "attention_mask": torch.ones_like(input_ids),
        "labels": input_ids.clone(),
    }
    return (batch,)


def iteration_provider(model):
    training_args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, learning_rate=2e-5, weight_decay=0.01)
    optimizer_class, options = Trainer.get_optimizer_cls_and_kwargs(training_args)
    optimizer = optimizer_class(model.parameters(), weight_decay=training_args.weight_decay, **options)

    def iteration(batch):
        inputs = {name: value.to(model.device) for name, value in batch.items()}
        loss = model(**inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), training_args.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()

    return iteration
