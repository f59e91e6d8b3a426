"""The requests to CUDA's caching allocator. The blocks that it returns and reports to observers are rounded up.

torch.cuda.memory keeps a history of its own, with the bytes and the stream of every request, for the pictures of
"Understanding CUDA Memory Usage" in PyTorch's documentation. It is on, without stacks, until the first iteration has
ended, and while iterations are recorded. Without a history, recordings lack the requested sizes.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

_MOST = 1_000_000  # events to keep: the latest

Request = tuple[int, int, int]  # address, requested bytes, a number for the stream


class AllocatorHistory:
    """The history of all devices."""

    def __init__(self) -> None:
        self._segments: list[dict[str, Any]] = []
        self._is_on = False

    def begin(self) -> None:
        """Starts the history, with the blocks that are alive now."""
        with contextlib.suppress(Exception):
            torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=_MOST)
            self._is_on = True
            self._segments = torch.cuda.memory._snapshot()["segments"]

    def take(self, index: int) -> list[Request]:
        """The blocks of a device that were alive at the start, then its requests in order. Ends the history."""
        if not self._is_on:
            return []
        self._is_on = False
        requests: list[Request] = []
        with contextlib.suppress(Exception):
            requests += _alive_blocks(self._segments, index)
            snapshot = torch.cuda.memory._snapshot()
            torch.cuda.memory._record_memory_history(enabled=None)
            requests += [
                (int(event["addr"]), int(event["size"]), int(event["stream"]))
                for event in snapshot["device_traces"][index]
                if event["action"] == "alloc"
            ]
        return _with_small_streams(requests)


def _alive_blocks(segments: list[dict[str, Any]], index: int) -> list[tuple[int, int, int]]:
    """Address, requested bytes, stream."""
    found = []
    for segment in segments:
        address = int(segment["address"])
        for block in segment["blocks"]:
            if segment.get("device", index) == index and block["state"].startswith("active"):
                found.append((address, int(block["requested_size"]), int(segment["stream"])))
            address += int(block["size"])
    return found


def _with_small_streams(requests: list[tuple[int, int, int]]) -> list[Request]:
    """Replaces the addresses of CUDA streams by numbers from 0, the default stream first."""
    numbers = {0: 0}
    return [(address, size, numbers.setdefault(stream, len(numbers))) for address, size, stream in requests]
