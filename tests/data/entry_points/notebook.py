# A regression, cell by cell.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

HIDDEN = 64
torch.manual_seed(0)
x = torch.randn(1000, 20)
y = x.sum(dim=1, keepdim=True) + 0.1 * torch.randn(1000, 1)


class Regressor(nn.Module):
    """Two layers."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


device = "cuda" if torch.cuda.is_available() else "cpu"
model = Regressor(20, HIDDEN).to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)

losses = []
for epoch in range(3):
    total = 0.0
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    losses.append(total)
    print(epoch, total)
