import torch
import torchvision
from torch import nn, optim
from torch.cuda.amp import GradScaler, autocast
from torchvision import models, transforms
from tqdm import tqdm

BATCH_SIZE = 256
transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])


def build(classes):
    model = models.resnet50(weights=None)
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model


if __name__ == "__main__":
    train_dataset = torchvision.datasets.ImageFolder("train", transform)
    train_loader = torch.utils.data.DataLoader(train_dataset, batch_size=BATCH_SIZE, shuffle=True, pin_memory=True)
    model = models.resnet50(weights=None)
    model.fc = nn.Linear(2048, 100)
    model = model.cuda()
    model = nn.DataParallel(model)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).cuda()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scaler = GradScaler()
    for epoch in range(90):
        progress = tqdm(train_loader)
        for images, target in progress:
            images = images.cuda(non_blocking=True)
            target = target.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                output = model(images)
                loss = criterion(output, target)
            if torch.isnan(loss):
                continue
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            scaler.step(optimizer)
            scaler.update()
            progress.set_description(f"{loss.item():.3f}")
