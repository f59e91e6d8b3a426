"""A forward whose saved tensors are in the host's memory until backward needs them: torch.autograd.graph.save_on_cpu.

In a step that is only listed, a tensor on "meta" stands for each of them, so that listing a step that would fill the
host's memory takes none of it; and where the step of a device is listed on the host, the host's memory is the device's.
"""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

from ridgeline_runner.changes.change import Function, NotApplicable
from ridgeline_runner.machine.machine_limits import machine_limits
from ridgeline_runner.step.operation_log import SMALL

_CHECKED_BYTES = 256 << 20  # are saved before the host's memory is looked at again
_LEAST_BYTES = 4 * _CHECKED_BYTES  # that the host has to have left


def offloaded(forward: Function, device_type: str, *, is_run: bool) -> Function:
    """`is_run`: the step computes; else its operations are listed. Raises NotApplicable, when it runs, before it would
    take the last of the host's memory."""
    import torch

    torchs = torch.autograd.graph.save_on_cpu(pin_memory=True, device_type=device_type)
    pack, unpack = _while_there_is_memory(torchs) if is_run else _listed(torchs)

    @functools.wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return forward(*args, **kwargs)

    return run


def _while_there_is_memory(torchs: Any) -> tuple[Function, Function]:
    unchecked = _CHECKED_BYTES

    def pack(tensor: Any) -> Any:
        nonlocal unchecked
        unchecked += tensor.nbytes
        if unchecked >= _CHECKED_BYTES:
            unchecked = 0
            if machine_limits().available_bytes < _LEAST_BYTES + tensor.nbytes:
                raise NotApplicable("the host has too little memory left for the activations")
        return torchs.pack_hook(tensor)

    return pack, torchs.unpack_hook


def _listed(torchs: Any) -> tuple[Function, Function]:
    """Small tensors keep their data: shapes may depend on them. So they stay where they are, beside what stands for
    them."""
    import torch

    empty = torch.empty

    def on_meta(*args: Any, pin_memory: bool = False, **kwargs: Any) -> Any:
        del pin_memory
        return empty(*args, **kwargs, device="meta")

    def pack(tensor: Any) -> Any:
        # A copy from a device works on contiguous memory there: it makes that where there is none.
        contiguous = None if tensor.is_contiguous() else empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        with mock.patch.object(torch, "empty", on_meta):
            packed = torchs.pack_hook(tensor)
        del contiguous
        return packed, tensor.detach() if tensor.numel() <= SMALL else None

    def unpack(saved: tuple[Any, Any]) -> Any:
        packed, small = saved
        unpacked = torchs.unpack_hook(packed)
        return unpacked if small is None else small

    return pack, unpack
