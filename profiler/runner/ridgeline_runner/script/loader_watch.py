"""The data loaders of a script: which batches training gets, how long it waits for them, and what workers do meanwhile.

Worker processes are forked with the clocks that they write to, in memory shared with this process; a spawned worker has
none, and its time stays unknown.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import multiprocessing
import struct
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Protocol

from ridgeline_runner.common.patches import Patches

_MOST_WORKERS = 1024
_SLOT = struct.Struct("QQ")


class Listener(Protocol):
    def fetching(self) -> bool:
        """Before a batch is fetched. Whether it is one of training."""

    def fetched(self, iterator: Any, batch: Any, indices: int | None) -> None:
        """After a batch of training was fetched, made of so many samples of the data set; None: not known."""

    def loader_starts(self, ns: int, *, is_new: bool) -> None:
        """After a new iterator was made, which took so long, and again after its first batch of training."""


class WorkerClocks:
    """What each worker of an iterator has loaded: batches, and nanoseconds for them."""

    def __init__(self, workers: int) -> None:
        self._slots = mmap.mmap(-1, _SLOT.size * max(1, workers))
        self.workers = workers

    def add(self, worker: int, ns: int) -> None:
        """In the worker's process: nobody else writes to its slot."""
        if worker < self.workers:
            batches, total = _SLOT.unpack_from(self._slots, worker * _SLOT.size)
            _SLOT.pack_into(self._slots, worker * _SLOT.size, batches + 1, total + ns)

    def total(self) -> tuple[int, int]:
        slots = list(_SLOT.iter_unpack(self._slots[: _SLOT.size * self.workers]))
        return sum(batches for batches, _ in slots), sum(ns for _, ns in slots)


_clocks_of_worker: WorkerClocks | None = None  # in a worker: those of its iterator


@dataclass
class Load:
    """Batches of one pass over the data, and the time it took to load them: of workers, else of this process."""

    batches: int = 0
    ns: int = 0

    def description(self) -> dict[str, int]:
        return {"batches": self.batches, "ns": self.ns}


@dataclass
class _Pass:
    """One iterator of a data loader of training, from its making to its end."""

    first_of_loader: bool
    workers: int
    clocks: WorkerClocks | None
    began: tuple[int, int] = (0, 0)  # of the clocks: persistent workers go on from pass to pass
    ended: tuple[int, int] | None = None  # likewise; None: it goes on
    waits: list[int] = field(default_factory=list)

    def load(self) -> Load:
        if self.workers == 0:
            return Load(len(self.waits[1:]), sum(self.waits[1:]))  # the first batch also waits for what is imported
        if self.clocks is None:
            return Load()
        batches, ns = self.ended or self.clocks.total()
        return Load(batches - self.began[0], ns - self.began[1])


class RepeatedBatches:
    """Batches in the order in which training got them."""

    def __init__(self) -> None:
        self._batches: list[Any] = []
        self._next = 0

    def restart(self) -> None:
        """The next batch is the first one again."""
        self._next = 0

    def take(self, batch: Any) -> Any:
        """The batch that training gets in place of `batch`, which is kept where it got none at that place before."""
        if self._next == len(self._batches):
            self._batches.append(batch)
        self._next += 1
        return self._batches[self._next - 1]


class LoaderWatch:
    def __init__(self, listener: Listener) -> None:
        self.is_at_work = False  # a loader, in this process
        self._listener = listener
        self._passes: weakref.WeakKeyDictionary[Any, _Pass] = weakref.WeakKeyDictionary()
        self._clocks: weakref.WeakKeyDictionary[Any, WorkerClocks] = weakref.WeakKeyDictionary()
        self._loaders: weakref.WeakSet[Any] = weakref.WeakSet()  # that have given a batch of training
        self._owners: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._training: list[_Pass] = []
        self._indices: weakref.WeakKeyDictionary[Any, deque[int]] = weakref.WeakKeyDictionary()  # of batches to come
        self._repeats: RepeatedBatches | None = None
        self._step_ns = 0  # waited in the step that goes on
        self._step_batches = 0
        self._began: tuple[int, int, int] | None = None  # of the clocks and the time, when timing began
        self._totals = {"steps": 0, "stepsNs": 0, "waitNs": 0, "batches": 0}

    def install(self, patches: Patches) -> None:
        from torch.utils.data import DataLoader, dataloader
        from torch.utils.data._utils import fetch

        patches.replace(dataloader._BaseDataLoaderIter, "__next__", self._watch_next)
        patches.replace(dataloader._BaseDataLoaderIter, "_next_index", self._watch_indices)
        patches.replace(DataLoader, "__iter__", self._watch_iter)
        patches.replace(dataloader._MultiProcessingDataLoaderIter, "__init__", self._watch_workers)
        for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            patches.replace(fetcher, "fetch", _watch_fetch)

    # ---- what torch calls --------------------------------------------------------------------------------------------

    def _watch_workers(self, make: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(make)
        def made(this: Any, loader: Any) -> None:
            global _clocks_of_worker
            _clocks_of_worker = clocks = WorkerClocks(min(loader.num_workers, _MOST_WORKERS))
            try:
                make(this, loader)
            finally:
                _clocks_of_worker = None
            with contextlib.suppress(Exception):
                if (loader.multiprocessing_context or multiprocessing).get_start_method() == "fork":
                    self._clocks[this] = clocks

        return made

    def _watch_iter(self, iterate: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(iterate)
        def iterated(this: Any) -> Any:
            began = perf_counter_ns()
            persistent = getattr(this, "_iterator", None)
            loaded = self._end_pass_of(persistent)
            if persistent is not None:
                self._indices.pop(persistent, None)  # those of a pass that was left
            self.is_at_work = True
            try:
                iterator = iterate(this)
            finally:
                self.is_at_work = False
            with contextlib.suppress(Exception):
                clocks = self._clocks.get(iterator)
                self._passes[iterator] = _Pass(this not in self._loaders, this.num_workers, clocks, loaded)
                self._owners[iterator] = this
                self._listener.loader_starts(perf_counter_ns() - began, is_new=True)
            return iterator

        return iterated

    def _end_pass_of(self, persistent: Any) -> tuple[int, int]:
        """What the persistent workers of an iterator have loaded before it is used again."""
        one = self._passes.get(persistent) if persistent is not None else None
        if one is None or one.clocks is None:
            return 0, 0
        one.ended = one.clocks.total()
        return one.ended

    def _watch_indices(self, following: Callable[..., Any]) -> Callable[..., Any]:
        """Workers are asked for batches earlier than the script is, in the same order."""
        from torch.utils.data.dataloader import _DatasetKind

        @functools.wraps(following)
        def next_index(this: Any) -> Any:
            index = following(this)
            with contextlib.suppress(Exception):
                if this._auto_collation and this._dataset_kind == _DatasetKind.Map:
                    self._indices.setdefault(this, deque()).append(len(index))
            return index

        return next_index

    def _watch_next(self, following: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(following)
        def next_batch(this: Any) -> Any:
            is_training = self._listener.fetching()
            began = perf_counter_ns()
            self.is_at_work = True
            try:
                batch = following(this)
            finally:
                self.is_at_work = False
            waiting = self._indices.get(this)
            indices = waiting.popleft() if waiting else None
            if is_training:
                self._fetched(this, batch, indices, perf_counter_ns() - began)
                if self._repeats is not None:
                    return self._repeats.take(batch)
            return batch

        return next_batch

    @contextlib.contextmanager
    def repeated(self) -> Iterator[RepeatedBatches]:
        """Training gets the same batches again and again meanwhile, whatever the loaders give."""
        self._repeats = RepeatedBatches()
        try:
            yield self._repeats
        finally:
            self._repeats = None

    # ---- what is known -----------------------------------------------------------------------------------------------

    def _fetched(self, iterator: Any, batch: Any, indices: int | None, ns: int) -> None:
        self._step_ns += ns
        self._step_batches += 1
        one = self._passes.get(iterator)
        if one is not None:
            if not one.waits:
                self._training.append(one)
                self._loaders.add(self._owners[iterator])
                self._listener.loader_starts(ns, is_new=False)
            one.waits.append(ns)
        self._listener.fetched(iterator, batch, indices)

    def step_ended(self, took_ns: int | None) -> None:
        """`took_ns` of a step that is timed, else None."""
        if took_ns is not None:
            step = {"steps": 1, "stepsNs": took_ns, "waitNs": self._step_ns, "batches": self._step_batches}
            self._totals = {name: total + step[name] for name, total in self._totals.items()}
        self._step_ns = self._step_batches = 0

    def timing_began(self) -> None:
        self._began = (*self._worker_totals(), perf_counter_ns())

    def description(self, threads: int, processors: int) -> dict[str, Any] | None:
        """As protocol/script_run.h has it; None where no data loader gave a batch, or none while steps were timed."""
        if not self._training or (self._totals["steps"] and not self._totals["batches"]):
            return None
        last = self._training[-1]
        batches, ns, now = (*self._worker_totals(), perf_counter_ns())
        began = self._began or (batches, ns, now)
        later = [one.load() for one in self._training if not one.first_of_loader]
        first = [one.load() for one in self._training if one.first_of_loader]
        return {
            **self._totals,
            "workers": last.workers,
            "workerBatches": batches - began[0],
            "workerNs": ns - began[1],
            "workerWallNs": now - began[2] if last.clocks else 0,
            "threads": threads,
            "processors": processors,
            "firstPass": _sum(first).description(),
            "laterPasses": _sum(later).description(),
        }

    def _worker_totals(self) -> tuple[int, int]:
        totals = [one.load() for one in self._training if one.workers]
        return sum(one.batches for one in totals), sum(one.ns for one in totals)


def _watch_fetch(fetch: Callable[..., Any]) -> Callable[..., Any]:
    """Runs in the workers."""

    @functools.wraps(fetch)
    def fetched(this: Any, index: Any) -> Any:
        clocks = _clocks_of_worker
        if clocks is None:
            return fetch(this, index)
        from torch.utils.data import get_worker_info

        began = perf_counter_ns()
        data = fetch(this, index)
        worker = get_worker_info()
        if worker is not None:
            clocks.add(worker.id, perf_counter_ns() - began)
        return data

    return fetched


def _sum(loads: list[Load]) -> Load:
    return Load(sum(one.batches for one in loads), sum(one.ns for one in loads))
