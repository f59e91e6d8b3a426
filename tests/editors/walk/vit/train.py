import argparse

import torch
import torch.nn.functional as F
from model import ViT
from torch.utils.data import DataLoader, Dataset, random_split


class Images(Dataset):
    """Random images, augmented as CIFAR-10 is."""

    def __init__(self, count: int) -> None:
        self.images = torch.randn(count, 3, 32, 32)
        self.labels = torch.randint(10, (count,))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int):
        image = self.images[index]
        if torch.rand(()) < 0.5:
            image = image.flip(-1)
        return F.pad(image, (2, 2, 2, 2))[:, 2:34, 2:34], self.labels[index]


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    right = total = 0
    for images, labels in loader:
        right += (model(images.to(device)).argmax(dim=1) == labels.to(device)).sum().item()
        total += len(labels)
    model.train()
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=3e-4)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set, val_set = random_split(Images(4096), [3584, 512])
    loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = ViT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))
    for epoch in range(args.epochs):
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            with torch.autocast(device.type, dtype=torch.bfloat16):
                loss = F.cross_entropy(model(images), labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {validate(model, val_loader, device):.3f}")
        torch.save({"model": model.state_dict(), "epoch": epoch}, f"checkpoint-{epoch}.pt")


if __name__ == "__main__":
    main()
