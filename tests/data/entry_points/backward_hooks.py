"""Each parameter has an optimizer of its own, which steps within the backward pass."""
import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(512, 64), torch.randint(0, 4, (512,)))
model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizers = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}


def step_at_once(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step_at_once)
for epoch in range(20):
    for x, y in DataLoader(data, batch_size=24, shuffle=True):
        torch.nn.functional.cross_entropy(model(x), y).backward()
