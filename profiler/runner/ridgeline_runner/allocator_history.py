"""What the code asks CUDA's caching allocator for. What it hands out, and tells its observers, is rounded up.

torch.cuda.memory keeps a history of its own, with the bytes and the stream of every request: for torch_cuda_memory's
pictures ("Understanding CUDA Memory Usage" in PyTorch's documentation). It is on while iterations are recorded, without
stacks. Where there is none, recordings go without what was asked for.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

_MOST = 1_000_000  # events that are kept: the last ones

Request = tuple[int, int, int]  # address, bytes that were asked for, a number for the stream


class AllocatorHistory:
    """Of one device."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._alive: list[tuple[int, int, int]] = []
        self._is_on = False

    def begin(self) -> None:
        """Before the first iteration."""
        with contextlib.suppress(Exception):
            torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=_MOST)
            self._is_on = True
            self._alive = _alive_blocks(torch.cuda.memory._snapshot()["segments"], self._index)

    def take(self) -> list[Request]:
        """After the last: what was alive at the beginning, then the requests in order. Ends the history."""
        requests = list(self._alive)
        self._alive = []
        if not self._is_on:
            return []
        self._is_on = False
        with contextlib.suppress(Exception):
            snapshot = torch.cuda.memory._snapshot()
            torch.cuda.memory._record_memory_history(enabled=None)
            requests += [
                (int(event["addr"]), int(event["size"]), int(event["stream"]))
                for event in snapshot["device_traces"][self._index]
                if event["action"] == "alloc"
            ]
        return _with_small_streams(requests)


def _alive_blocks(segments: list[dict[str, Any]], index: int) -> list[tuple[int, int, int]]:
    """Address, bytes that were asked for, stream."""
    found = []
    for segment in segments:
        address = int(segment["address"])
        for block in segment["blocks"]:
            if segment["device"] == index and block["state"].startswith("active"):
                found.append((address, int(block["requested_size"]), int(segment["stream"])))
            address += int(block["size"])
    return found


def _with_small_streams(requests: list[tuple[int, int, int]]) -> list[Request]:
    """A stream is the address of CUDA's: here they count from 0, the default stream first."""
    numbers = {0: 0}
    return [(address, size, numbers.setdefault(stream, len(numbers))) for address, size, stream in requests]
