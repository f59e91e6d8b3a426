"""The batch size of a script's training step, and how it is overridden in a run of the script at another one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

from ridgeline_runner.entry import tensors_in
from ridgeline_runner.patches import Patches

_BATCH_SIZES = 1 << 24
_MOST_WRAPPERS = 8  # samplers around a BatchSampler, as Accelerate's


class BatchSize:
    """Samples of one training step: what the data loader gave, else the first dimension of what the model got."""

    def __init__(self) -> None:
        self.size = 1
        self.warnings: list[str] = []
        self.loader_sizes: list[int] = []  # of the loaders of the step, as they were constructed; each once
        self.obstacle = ""  # why they cannot be given another one, as the end of a sentence
        self._loaded = 0
        self._batches = 0
        self._called = 0
        self._samplers: dict[int, Any] = {}  # of the step's loaders, by id; None: a loader that does not batch

    def reset(self) -> None:
        self._loaded = self._batches = self._called = 0
        self._samplers.clear()

    def loaded(self, iterator: Any, batch: Any) -> None:
        with contextlib.suppress(Exception):
            first = next((tensor for tensor in tensors_in(batch) if tensor.dim() > 0), None)
            sampler = iterator._index_sampler
            size = first.shape[0] if first is not None else getattr(sampler, "batch_size", 0)
            self._loaded += int(size or 0)
            self._batches += 1
            self._samplers[id(sampler)] = sampler if iterator._auto_collation else None

    def called(self, arguments: Any) -> None:
        with contextlib.suppress(Exception):
            first = next((tensor for tensor in tensors_in(arguments) if tensor.dim() > 0), None)
            if first is not None and self._called == 0:
                self._called = int(first.shape[0])

    def decide(self) -> None:
        """After the step that was watched."""
        self._find_loader_sizes()
        if 0 < self._loaded < _BATCH_SIZES:
            self.size = self._loaded
            if self._batches > 1:
                self.warnings.append(f"The batch size {self.size} is that of the {self._batches} batches of a step.")
        elif 0 < self._called < _BATCH_SIZES:
            self.size = self._called
            self.warnings.append(
                f"The batch size {self.size} is the first dimension of the model's input: no DataLoader is used."
            )
        else:
            self.warnings.append("The batch size is not known and taken as 1.")
        self._samplers.clear()

    def _find_loader_sizes(self) -> None:
        sizes: dict[int, None] = {}
        if not self._samplers:
            self.obstacle = "no DataLoader gives the step its data"
        for sampler in self._samplers.values():
            size = _size_of(sampler)
            if sampler is None:
                self.obstacle = "the data set makes the batches, not the DataLoader"
            elif size is None:
                self.obstacle = f"{type(sampler).__name__} makes the batches, which is no BatchSampler of torch"
            else:
                sizes[size] = None
        self.loader_sizes = [] if self.obstacle else list(sizes)


def override(sizes: Mapping[int, int], patches: Patches) -> None:
    """Every DataLoader and BatchSampler that is constructed with one of these batch sizes from now on has the other."""
    from torch.utils.data import BatchSampler, DataLoader

    inside_loader = False  # which passes its size on to its BatchSampler

    def loader(construct: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(construct)
        def constructed(this: Any, dataset: Any, batch_size: Any = 1, *arguments: Any, **keywords: Any) -> None:
            nonlocal inside_loader
            has_sampler = keywords.get("batch_sampler") is not None or (len(arguments) > 2 and arguments[2])
            size = batch_size if has_sampler else sizes.get(batch_size, batch_size)
            inside_loader = True
            try:
                construct(this, dataset, size, *arguments, **keywords)
            finally:
                inside_loader = False

        return constructed

    def sampler(construct: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(construct)
        def constructed(this: Any, sampler: Any, batch_size: Any, *arguments: Any, **keywords: Any) -> None:
            size = batch_size if inside_loader else sizes.get(batch_size, batch_size)
            construct(this, sampler, size, *arguments, **keywords)

        return constructed

    patches.replace(DataLoader, "__init__", loader)
    patches.replace(BatchSampler, "__init__", sampler)


def _size_of(sampler: Any) -> int | None:
    """Of the BatchSampler of torch behind it."""
    from torch.utils.data import BatchSampler

    for _ in range(_MOST_WRAPPERS):
        if isinstance(sampler, BatchSampler) and isinstance(sampler.batch_size, int):
            inner = getattr(sampler, "batch_sampler", None)
            return _size_of(inner) if inner is not None else sampler.batch_size
        sampler = getattr(sampler, "batch_sampler", None)
    return None
