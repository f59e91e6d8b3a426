"""Data-parallel training without overlap: what DistributedDataParallel does, when backward is over."""

import torch
import torch.distributed as dist
from torch import nn


class ReducedAfterBackward:
    """Copies gradients to buckets, reduces each and copies it back."""

    def __init__(self, model: nn.Module, cap: int) -> None:
        last_first = list(model.parameters())[::-1]
        indices, _ = dist._compute_bucket_assignment_by_size(last_first, [cap])  # noqa: SLF001
        self._buckets = [[last_first[i] for i in bucket] for bucket in indices]
        self._flat = [torch.empty(sum(p.numel() for p in bucket)) for bucket in self._buckets]

    def __call__(self) -> None:
        work = []
        for bucket, flat in zip(self._buckets, self._flat, strict=True):
            for part, parameter in zip(flat.split([p.numel() for p in bucket]), bucket, strict=True):
                torch.mul(parameter.grad.view(-1), 1 / dist.get_world_size(), out=part)
            work.append(dist.all_reduce(flat, async_op=True))
        for each in work:
            each.wait()
        for bucket, flat in zip(self._buckets, self._flat, strict=True):
            for part, parameter in zip(flat.split([p.numel() for p in bucket]), bucket, strict=True):
                parameter.grad.view(-1).copy_(part)
