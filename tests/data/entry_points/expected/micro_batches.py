"""Entry point for Ridgeline, from micro_batches.py: a model, its input and one training iteration.

Importing the script would train, so what it needs is copied here.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import itertools
from contextlib import nullcontext
import torch
from torch.nn import functional as F

gradient_accumulation_steps = 2 * 3
batch_size = 4
block_size = 16
vocabulary = 50


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, 32)
        self.head = torch.nn.Linear(32, vocabulary)

    def forward(self, tokens, targets):
        logits = self.head(self.embedding(tokens))
        return logits, F.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))


corpus = torch.randint(vocabulary, (10_000,))


def get_batch(split):
    start = torch.randint(len(corpus) - block_size - 1, (batch_size,))
    rows = start[:, None] + torch.arange(block_size)
    return corpus[rows], corpus[rows + 1]


def model_provider():
    return Model()


def input_provider(batch_size=24):  # 6 micro-batches of 4
    samples = batch_size
    batches = []
    for micro_batch in range(gradient_accumulation_steps):
        batch_size = globals()["batch_size"] = (samples + micro_batch) // gradient_accumulation_steps
        batches.append(get_batch("train"))
    return (batches,)


def iteration_provider(model):
    grad_clip = 1.0
    learning_rate = 6e-4
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    context = nullcontext()

    def iteration(batches):
        drawn = itertools.cycle(batches)

        def get_batch(*_, **__):
            return next(drawn)

        X, Y = get_batch("train")
        for micro_step in range(gradient_accumulation_steps):
            with context:
                logits, loss = model(X, Y)
                loss = loss / gradient_accumulation_steps
            X, Y = get_batch("train")
            scaler.scale(loss).backward()
        if grad_clip != 0.0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)

    return iteration
