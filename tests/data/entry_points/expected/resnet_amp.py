"""Entry point for Ridgeline, from resnet_amp.py: a model, its input and one training iteration.

What only reports (logging, metrics, checkpoints) is left out of the iteration.
"""

import torch
from torch import nn, optim
from torch.cuda.amp import GradScaler, autocast
from torchvision import models


def model_provider():
    model = models.resnet50(weights=None)
    model.fc = nn.Linear(2048, 100)
    model = model.cuda()
    return nn.DataParallel(model)


def input_provider(batch_size=256):
    images = torch.randn(batch_size, 3, 224, 224)
    target = torch.randint(100, (batch_size,))
    return images, target


def iteration_provider(model):
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).cuda()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scaler = GradScaler()

    def iteration(images, target):
        images = images.cuda(non_blocking=True)
        target = target.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            output = model(images)
            loss = criterion(output, target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()

    return iteration
