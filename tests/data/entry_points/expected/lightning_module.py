"""Entry point for Ridgeline, from lightning_module.py: a model, its input and one training iteration."""

import torch

from lightning_module import Classifier


def model_provider():
    return Classifier(width=64)


def input_provider(batch_size=128):
    images = torch.randn(batch_size, 3, 32, 32)
    labels = torch.randint(10, (batch_size,))
    return ((images, labels),)


def iteration_provider(classifier):
    optimizer = classifier.configure_optimizers()[0][0]

    def iteration(batch):
        optimizer.zero_grad()
        loss = classifier.training_step(batch, 0)
        loss.backward()
        optimizer.step()

    return iteration
