"""Whether a step is warm, and how certain its time is. Pure functions of measured times."""

from __future__ import annotations

import math
from collections.abc import Sequence

_MANY = 500


def is_warm(times_ns: Sequence[int], *, least: int = 3) -> bool:
    """Whether the step has settled: at least so many iterations, the last two, or for a `least` of two the last one,
    near the fastest so far.

    The first iteration of a process creates optimizer state and thread pools, and the first at a batch size chooses
    kernels. A step that never settles is stopped by the caller's bounds.
    """
    if len(times_ns) < least:
        return False
    return max(times_ns[1 - least :]) <= 1.10 * min(times_ns)


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval_ranks(count: int) -> tuple[int, int] | None:
    """Ranks (from 0) of the order statistics that hold the median with at least 95 % confidence.

    Distribution-free: the number of values below the median is binomial(count, 1/2). None below six values. For many
    values the binomial is taken as normal, and the interval a rank wider.
    """
    if count > _MANY:
        rank = math.floor(count / 2 - 1.96 * math.sqrt(count) / 2) - 1
        return (rank, count - 1 - rank)
    cumulative = 0.0
    rank = -1
    for below in range(count // 2 + 1):
        cumulative += math.comb(count, below) / 2**count
        if cumulative > 0.025:
            break
        rank = below
    return None if rank < 0 else (rank, count - 1 - rank)


def relative_half_width(values: Sequence[float]) -> float:
    """Half of the 95 % interval of the median, relative to it; infinity when there are too few values."""
    ranks = median_interval_ranks(len(values))
    if ranks is None:
        return math.inf
    ordered = sorted(values)
    return (ordered[ranks[1]] - ordered[ranks[0]]) / 2 / median(values)
