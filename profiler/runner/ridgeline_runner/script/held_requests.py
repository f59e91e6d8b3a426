"""What a script that is under way holds already, as requests of memory: those of a process that builds it anew."""

from __future__ import annotations

import gc
from collections.abc import Container
from typing import Any


def trained_storages() -> tuple[list[Any], list[Any]]:
    """Of the tensors of all modules and of their gradients; and of what optimizers keep beside them. None twice."""
    import torch

    trained: list[Any] = []
    kept: list[Any] = []
    for thing in gc.get_objects():
        kind = type(thing)
        if issubclass(kind, torch.nn.Module):
            trained += [*thing._parameters.values(), *thing._buffers.values()]
        elif issubclass(kind, torch.optim.Optimizer):
            kept += [value for state in thing.state.values() for value in state.values()]
            trained += [one for group in thing.param_groups for one in group["params"]]
    of_both = []
    for found in (trained, kept):
        tensors = [one for one in found if isinstance(one, torch.Tensor)]
        with_gradients = [one for t in tensors for one in (t, t.grad if t.is_leaf else None) if one is not None]
        of_both.append({one.data_ptr(): one for one in (tensor.untyped_storage() for tensor in with_gradients)})
    return list(of_both[0].values()), [one for address, one in of_both[1].items() if address not in of_both[0]]


class HeldStorages:
    """Those of trained_storages() on a device, without keeping them alive."""

    def __init__(self, device: Any, without: Container[int]) -> None:
        """`device`: torch.device. `without`: addresses of storages that a process built anew would not have."""
        from torch.multiprocessing.reductions import StorageWeakRef

        self._trained, self._kept = (
            [
                (StorageWeakRef(one), one.nbytes())
                for one in storages
                if one.device == device and one.data_ptr() not in without
            ]
            for storages in trained_storages()
        )

    def with_requests(self, requests: list[int]) -> list[int]:
        """The requests of steps, of Recorder.requests_since() with a mark at the end of the first step, with those of
        the storages that are there still: for what is trained before the steps, for what optimizers keep at the mark,
        as a process asks for them."""
        return with_held(requests, _there(self._trained), _there(self._kept))


def _there(storages: list[tuple[Any, int]]) -> list[int]:
    return [size for storage, size in storages if size and not storage.expired()]


def with_held(requests: list[int], first: list[int], at_mark: list[int]) -> list[int]:
    """The requests (bytes, or ~i where request i was freed, and a 0 as the mark) with others that are never freed:
    before them, and in place of the mark. Empty where there are none."""
    if not requests:
        return []
    mark = requests.index(0)
    count = sum(one > 0 for one in requests[:mark])

    def renumbered(one: int) -> int:
        return one if one > 0 else one - len(first) - (len(at_mark) if ~one >= count else 0)

    before, behind = requests[:mark], requests[mark + 1 :]
    return [*first, *map(renumbered, before), *at_mark, *map(renumbered, behind)]
