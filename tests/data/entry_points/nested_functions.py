"""The loop is in a function within a function, and the optimizer calls a closure."""
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    batch: int = 40
    rate: float = 0.1


def main():
    settings = Settings()
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=settings.rate, max_iter=3)
    data = TensorDataset(torch.randn(512, 64), torch.randint(0, 4, (512,)))

    def train_one_epoch():
        for x, y in DataLoader(data, batch_size=settings.batch, shuffle=True):

            def closure():
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(x), y)
                loss.backward()
                return loss

            optimizer.step(closure)

    for epoch in range(3):
        train_one_epoch()


main()
