"""Entry point for Ridgeline, from hugging_face.py: a model, its input and one training iteration.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
from torch.optim import AdamW
from transformers import AutoModelForSequenceClassification, get_scheduler
from transformers import AutoConfig

from hugging_face import CHECKPOINT

device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")


def model_provider():
    model = AutoModelForSequenceClassification.from_pretrained(CHECKPOINT, num_labels=3)
    model.to(device)
    model.train()
    return model


def input_provider(batch_size=8):
    config = AutoConfig.from_pretrained(CHECKPOINT, num_labels=3)
    length = min(getattr(config, "max_position_embeddings", 128), 128)  # guessed: at most 128 tokens
    input_ids = torch.randint(config.vocab_size, (batch_size, length))
    batch = {
        "input_ids": input_ids,
        "attention_mask": torch.ones_like(input_ids),
        "labels": torch.randint(config.num_labels, (batch_size,)),
    }
    return (batch,)


def iteration_provider(model):
    step = -1
    optimizer = AdamW(model.parameters(), lr=3e-5)
    schedule = get_scheduler("linear", optimizer=optimizer, num_warmup_steps=0, num_training_steps=1000)

    def iteration(batch):
        nonlocal step
        step += 1
        batch = {k: v.to(device) for k, v in batch.items()}
        outputs = model(**batch)
        loss = outputs.loss / 4
        loss.backward()
        if (step + 1) % 4 == 0:
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()

    return iteration
