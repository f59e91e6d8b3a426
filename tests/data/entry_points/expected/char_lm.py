"""Entry point for Ridgeline, from char_lm.py: a model, its input and one training iteration.

Importing the script would train, so what it needs is copied here.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
import torch.nn as nn
from torch.nn import functional as F

batch_size = 32
block_size = 8
device = 'cuda' if torch.cuda.is_available() else 'cpu'
text = "the quick brown fox jumps over the lazy dog " * 100
chars = sorted(list(set(text)))
stoi = { ch:i for i,ch in enumerate(chars) }
encode = lambda s: [stoi[c] for c in s]
data = torch.tensor(encode(text), dtype=torch.long)
train_data = data[:int(0.9*len(data))]
val_data = data[int(0.9*len(data)):]


def get_batch(split):
    data = train_data if split == 'train' else val_data
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i:i+block_size] for i in ix])
    y = torch.stack([data[i+1:i+block_size+1] for i in ix])
    return x.to(device), y.to(device)


class BigramLanguageModel(nn.Module):

    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        B, T, C = logits.shape
        return logits, F.cross_entropy(logits.view(B*T, C), targets.view(B*T))


def model_provider():
    vocab_size = len(chars)
    return BigramLanguageModel(vocab_size)


def input_provider(batch_size=32):
    globals()["batch_size"] = batch_size  # for the functions above
    xb, yb = get_batch('train')
    return xb, yb


def iteration_provider(model):
    learning_rate = 1e-2
    m = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

    def iteration(xb, yb):
        logits, loss = m(xb, yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return iteration
