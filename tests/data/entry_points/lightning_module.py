import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision.datasets import CIFAR10
from torchvision.transforms import ToTensor


class Classifier(L.LightningModule):
    def __init__(self, width=32, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        images, labels = batch
        loss = F.cross_entropy(self(images), labels)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        return [optimizer], [scheduler]


if __name__ == "__main__":
    train_set = CIFAR10("data", download=True, transform=ToTensor())
    loader = DataLoader(train_set, batch_size=128, num_workers=4)
    classifier = Classifier(width=64)
    trainer = L.Trainer(max_epochs=5)
    trainer.fit(classifier, loader)
