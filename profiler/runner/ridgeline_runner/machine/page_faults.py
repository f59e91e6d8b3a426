"""Memory that the kernel gives this process: each page when it is used first, which a page fault asks for."""

from __future__ import annotations

import contextlib
import ctypes
import resource
from time import perf_counter_ns  # before user code can replace it
from typing import Any

_PAGE = resource.getpagesize()
_LEAST_BYTES = 128 << 10  # smaller blocks come from what the heap has; and operations use their pages on one thread
_AT_ONCE = 16_384  # pages; torch uses several threads from 32,768 elements on


def page_faults() -> int:
    """Pages that the kernel has given this process, each of which it had to clear."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def trim_heap() -> None:
    """Gives what the heap keeps and nothing uses back to the kernel."""
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def first_use_ns(tensor: Any) -> int:
    """Writes to every page of a tensor's memory on the host, whose values nothing needs. Nanoseconds, on one thread; 0
    where the process had the pages."""
    import torch

    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        return 0
    storage = tensor.untyped_storage()
    if storage.nbytes() < _LEAST_BYTES:
        return 0
    pages = torch.empty(0, dtype=torch.uint8).set_(storage)[::_PAGE].split(_AT_ONCE)
    faults, start = page_faults(), perf_counter_ns()
    for part in pages:
        part.fill_(0)
    ns = perf_counter_ns() - start
    return ns if page_faults() > faults else 0
