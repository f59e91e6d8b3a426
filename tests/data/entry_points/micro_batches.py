"""A step of several micro-batches, each drawn by a function, as in small GPTs."""
import math
from contextlib import nullcontext

import torch
from torch.nn import functional as F

gradient_accumulation_steps = 2 * 3
batch_size = 4
block_size = 16
vocabulary = 50
grad_clip = 1.0
max_steps = 1000
learning_rate = 6e-4


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


model = Model()
scaler = torch.amp.GradScaler("cpu", enabled=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
context = nullcontext()
X, Y = get_batch("train")
step = 0
while True:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * 0.5 * (1 + math.cos(step))
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
    step += 1
    if step > max_steps:
        break
