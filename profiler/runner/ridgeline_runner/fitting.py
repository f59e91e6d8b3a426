"""Whether a batch size fits into memory, told from smaller ones, before it is tried for long."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_FIRST = 2  # some layers need two samples
_CLEAR_GROWTH = 1.3  # the peak that belongs to the batch, and not to the weights, decides


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
    batch size and gives its peak; what it raises ends the search. None when two sizes tell no growth."""
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


def gibibytes(count: int) -> str:
    return f"{count / 2**30:.3g} GiB" if count >= 2**30 else f"{count / 2**20:.3g} MiB"


def data_bytes() -> int:
    """What the limit of memory counts of this process (VmData); 0 when the system does not tell."""
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmData:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return 0
