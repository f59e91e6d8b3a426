"""Data-parallel training with a parameter server: gradients go to rank 0 and come back as their mean."""

import torch
import torch.distributed as dist
from torch import nn


class MeanByServer:
    """Sends and receives each gradient, when backward is over."""

    def __init__(self, model: nn.Module) -> None:
        self._parameters = list(model.parameters())
        self._received = [torch.empty_like(parameter) for parameter in self._parameters]

    def __call__(self) -> None:
        gradients = [parameter.grad for parameter in self._parameters]
        if dist.get_rank() > 0:
            for gradient in gradients:
                dist.send(gradient, 0)
            for gradient in gradients:
                dist.recv(gradient, 0)
            return
        workers = range(1, dist.get_world_size())
        for worker in workers:
            for gradient, received in zip(gradients, self._received, strict=True):
                dist.recv(received, worker)
                gradient += received
        for gradient in gradients:
            gradient /= dist.get_world_size()
        for worker in workers:
            for gradient in gradients:
                dist.send(gradient, worker)
