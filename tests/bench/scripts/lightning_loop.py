"""A LightningModule, trained by Lightning's Trainer, which gives `step` a closure."""

from __future__ import annotations

import lightning
import torch
from common import STEPS, print_digest
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))

    def training_step(self, batch, batch_index):
        x, y = batch
        return nn.functional.cross_entropy(self.network(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def main() -> None:
    lightning.seed_everything(1)
    model = Classifier()
    data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
    trainer = lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(data, batch_size=16))
    print_digest(model)


if __name__ == "__main__":
    main()
