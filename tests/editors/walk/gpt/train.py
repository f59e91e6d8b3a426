import math

import torch
from model import GPT, Config

# settings
batch_size = 12
max_iters = 2000
learning_rate = 6e-4
warmup_iters = 100
grad_clip = 1.0
log_interval = 10
device = "cuda" if torch.cuda.is_available() else "cpu"

torch.manual_seed(1337)
config = Config()
data = torch.randint(config.vocab_size, (100_000,))


def get_batch():
    start = torch.randint(len(data) - config.block_size, (batch_size,))
    x = torch.stack([data[i : i + config.block_size] for i in start])
    y = torch.stack([data[i + 1 : i + 1 + config.block_size] for i in start])
    return x.to(device), y.to(device)


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * it / warmup_iters
    return 0.5 * learning_rate * (1 + math.cos(math.pi * it / max_iters))


model = GPT(config).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.1)

X, Y = get_batch()
for iter_num in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(iter_num)
    logits, loss = model(X, Y)
    X, Y = get_batch()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if iter_num % log_interval == 0:
        print(f"iter {iter_num}: loss {loss.item():.4f}")
