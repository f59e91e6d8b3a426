"""Whether a batch size fits into memory, predicted from smaller ones before much time is spent on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ridgeline_runner.common.channel import ChannelClosed
from ridgeline_runner.common.failure import Failure, release
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.step.entry import tensors_in

_FIRST = 2  # some layers need two samples
_CLEAR_GROWTH = 1.3  # from here on the batch dominates the peak, not the weights
_LARGE_INPUTS = 1 / 64  # of the memory limit: then smaller batch sizes are run first
_CLEARLY_BEYOND = 1.25  # times the limit: another algorithm may need a fifth less than small batch sizes suggest


@dataclass(frozen=True)
class Growth:
    """Peak bytes as a line through two batch sizes. Every allocation that grows in proportion to the batch makes a
    line, and the peak is the largest of them: beyond the two sizes it may lie above this line, not below it."""

    small: int
    small_bytes: int
    large: int
    large_bytes: int

    def bytes_at(self, size: int) -> int:
        slope = (self.large_bytes - self.small_bytes) / (self.large - self.small)
        return round(self.large_bytes + slope * (size - self.large))

    def largest_within(self, room: int) -> int:
        """The largest batch size of at most so many bytes; 0 when there is none. Needs a peak that grows."""
        slope = (self.large_bytes - self.small_bytes) / (self.large - self.small)
        return max(0, math.floor(self.large + (room - self.large_bytes) / slope))


def find_growth(peak_of: Callable[[int], int], below: int) -> Growth | None:
    """Doubles the batch size from 2 on until its peak has clearly grown, and never reaches `below`. `peak_of` runs a
    batch size and returns its peak in bytes; an exception from it ends the search. None when no growth was found."""
    size, peak = _FIRST, 0
    if size < below:
        peak = peak_of(size)
    while 2 * size < below:
        more = peak_of(2 * size)
        if more >= _CLEAR_GROWTH * peak:
            return Growth(size, peak, 2 * size, more)
        size, peak = 2 * size, more
    return None


def first_half_within(chosen: int, largest: int) -> int:
    """The first of the halves of `chosen` that is at most `largest`; 1 when none is."""
    size = chosen // 2
    while size > max(1, largest):
        size //= 2
    return max(1, size)


class MemoryFit:
    """Predicts which batch sizes fit into a device's memory, by running small ones once.

    One per run, used by one thread. Until `search` has found how the peak grows there is no prediction: `check` then
    refuses nothing, `first_half` halves, and `describe` says nothing.
    """

    def __init__(self, device: Device, host_limit_bytes: int) -> None:
        """`host_limit_bytes` limits the whole process (0: no limit) and applies where `device` is the host; a CUDA
        device is asked for what it has."""
        self._device = device
        self._host_limit_bytes = host_limit_bytes
        self._growth: Growth | None = None
        self.has_searched = False

    def should_search(self, inputs: tuple[Any, ...]) -> bool:
        """Whether the inputs alone take so much that the step may not fit, which would take long to find out."""
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors_in(inputs))
        return not self.has_searched and size > _LARGE_INPUTS * self._limit_bytes() > 0

    def search(self, peak_of: Callable[[int], int], below: int) -> None:
        """`find_growth`, once: later calls do nothing. An exception from `peak_of` leaves no prediction; only
        ChannelClosed is raised further."""
        if self.has_searched:
            return
        self.has_searched = True
        try:
            self._growth = find_growth(peak_of, below)
        except ChannelClosed:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit included
            release(error)

    def check(self, size: int) -> None:
        """Raises Failure where the line through smaller batch sizes lies clearly beyond the limit."""
        growth = self._growth
        limit = self._limit_bytes()
        if growth is not None and size > growth.large and 0 < _CLEARLY_BEYOND * limit < growth.bytes_at(size):
            raise Failure(
                "out-of-memory",
                f"Batch size {size} was not run: by batch sizes {growth.small} and {growth.large} it needs "
                f"{_gibibytes(growth.bytes_at(size))} of memory, and the limit is {_gibibytes(limit)}",
            )

    def first_half(self, size: int) -> int:
        """The first of the halves of a batch size that did not fit that is predicted to fit."""
        return size // 2 if self._growth is None else first_half_within(size, self._largest(self._growth))

    def describe(self, size: int) -> str:
        """The prediction for a batch size, to be appended to a sentence; empty without a prediction."""
        growth = self._growth
        if growth is None:
            return ""
        return (
            f" (by batch sizes {growth.small} and {growth.large} it needs {_gibibytes(growth.bytes_at(size))}, "
            f"the limit is {_gibibytes(self._limit_bytes())}, and about {self._largest(growth)} fits)"
        )

    def _limit_bytes(self) -> int:
        """How much memory the step's tensors may take; 0 when unknown."""
        return self._host_limit_bytes if self._device.is_host else self._device.available_bytes()

    def _largest(self, growth: Growth) -> int:
        """The largest batch size that is predicted to fit, with what the process needs besides the step's tensors."""
        other_bytes = max(0, _data_bytes() - growth.large_bytes) if self._device.is_host else 0
        return growth.largest_within(self._limit_bytes() - other_bytes)


def _gibibytes(count: int) -> str:
    return f"{count / 2**30:.3g} GiB" if count >= 2**30 else f"{count / 2**20:.3g} MiB"


def _data_bytes() -> int:
    """The memory of this process that the limit counts (VmData); 0 when the system does not report it."""
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmData:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return 0
