"""The batch size of a script's training step, and how it is overridden in a run of the script at another one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

from ridgeline_runner.common.patches import Patches
from ridgeline_runner.script.backward_watch import Backward
from ridgeline_runner.script.batch_dimension import Samples, samples_in, samples_loaded
from ridgeline_runner.script.forward_samples import ForwardSamples, Probe
from ridgeline_runner.script.step_samples import StepSamples
from ridgeline_runner.step.entry import tensors_in

_MOST_WRAPPERS = 8  # samplers around a BatchSampler, as Accelerate's


class BatchSize:
    """Finds the batch size of each step from what its data loaders gave and what its passes show."""

    def __init__(self, given: int) -> None:
        """`given`: the samples of a step, by the user; 0: they are found."""
        self.samples = StepSamples(given)
        self.forwards: ForwardSamples | None = None  # as long as a step is watched
        self.loader_sizes: list[int] = []  # of the loaders of the step, as they were constructed; each once
        self.obstacle = ""  # why they cannot be given another one, as the end of a sentence
        self._loaded: Samples | None = None  # in the step that goes on
        self._batches = 0
        self._samplers: dict[int, Any] | None = {}  # of the step's loaders, by id; None: a loader that does not batch
        self._probe: Probe | None = None
        self._probed = 0  # samples of the backward passes of the step that goes on
        self._probed_all = True
        self._probed_when_watched = 0
        self._called: Samples | None = None  # with which a model that is not trained was called, in this step

    @property
    def size(self) -> int:
        return self.samples.batch_size

    def watch(self) -> ForwardSamples:
        """The step that begins is watched; what was seen before is forgotten."""
        self.samples.forget()
        self._begin_step()
        self._samplers = {}
        self._probe = None
        self.forwards = ForwardSamples()
        return self.forwards

    def loaded(self, iterator: Any, batch: Any, indices: int | None) -> None:
        with contextlib.suppress(Exception):
            found = samples_loaded(tensors_in(batch), indices)
            if found is not None:
                before = self._loaded or Samples(0)
                self._loaded = Samples(before.count + found.count, before.doubt or found.doubt)
            self._batches += 1
            if self._samplers is not None:
                sampler = iterator._index_sampler
                self._samplers[id(sampler)] = sampler if iterator._auto_collation else None

    def backward_begins(self, backward: Backward) -> None:
        if self.forwards is not None:
            self.forwards.backward_begins(backward)
        elif self._probe is not None and self._loaded is None and not backward.gives_graph:
            rows = self._probe.read(backward.roots)
            self._probed_all = self._probed_all and rows is not None
            self._probed += rows or 0

    def model_begins(self, arguments: Any) -> None:
        """The step that begins is a call of a model that is not trained."""
        with contextlib.suppress(Exception):
            self._called = samples_in(tensors_in(arguments))

    def part_ended(self, optimizer: int, *, closure: bool) -> None:
        if self.forwards is not None:
            with contextlib.suppress(Exception):  # whatever tensors of the script's do, it goes on
                self.forwards.part_ended(optimizer, closure=closure)

    def step_ended(self) -> None:
        """Ends a step that is not watched, or one after decide()."""
        is_known = self._probe is not None and self._probed_all and self._probed > 0
        rate = self._probed / self._probed_when_watched if is_known else None
        loaded = self._loaded
        if self._called is not None and (loaded is None or not self._called.doubt):
            loaded = self._called  # a loader gives the batch of a call before the step
        self.samples.step_ended(loaded, self._batches, rate)
        self._begin_step()

    def _begin_step(self) -> None:
        self._loaded = self._called = None
        self._batches = self._probed = 0
        self._probed_all = True

    def decide(self) -> None:
        """At the end of the step that was watched, before step_ended()."""
        forwards, self.forwards = self.forwards, None
        if forwards is None:
            return
        self.samples.watched(forwards.found() or self._called, forwards.backwards)
        self._probe = forwards.probe()
        if self._probe is not None:
            self._probed_when_watched = self._probed = self._probe.samples * forwards.backwards
        self._find_loader_sizes()
        self._samplers = None

    def _find_loader_sizes(self) -> None:
        sizes: dict[int, None] = {}
        self.obstacle = ""
        if not self._samplers:
            self.obstacle = "no DataLoader gives the step its data"
        for sampler in (self._samplers or {}).values():
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
    """The batch size of the torch BatchSampler behind it; None: there is none."""
    from torch.utils.data import BatchSampler

    for _ in range(_MOST_WRAPPERS):
        if isinstance(sampler, BatchSampler) and isinstance(sampler.batch_size, int):
            inner = getattr(sampler, "batch_sampler", None)
            return _size_of(inner) if inner is not None else sampler.batch_size
        sampler = getattr(sampler, "batch_sampler", None)
    return None
