"""Where a training step ends, from the order in which optimizers step. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

MOST_CALLS = 512  # that are looked through for a period


def find_period(calls: Sequence[int], optimizers: int) -> tuple[list[int], int] | None:
    """The optimizers of one training step in their order, and how many of them have stepped since the last step ended;
    None while more calls must be seen.

    `calls`: which optimizer stepped, as numbers, oldest first. `optimizers`: how many there are; one that does not step
    within 64 calls is not waited for. Several are a GAN's, which step in turns, or one more often than the other: the
    calls must have repeated themselves. A step ends with the one that steps least often, of equals with the
    one that began last. Without a period in MOST_CALLS calls: no optimizers.
    """
    seen = set(calls)
    if not calls or (len(seen) < optimizers and len(calls) < 64):
        return None
    if len(seen) == 1:
        return [calls[-1]], 0
    for length in range(len(seen), len(calls) // 2 + 1):
        last, before = calls[-length:], calls[-2 * length : -length]
        if list(last) == list(before) and set(last) == seen:
            return _rotated(list(last), list(dict.fromkeys(calls)))
    return ([], 0) if len(calls) >= MOST_CALLS else None


def _rotated(period: list[int], order: list[int]) -> tuple[list[int], int]:
    counts = Counter(period)
    end = min(counts, key=lambda one: (counts[one], -order.index(one)))
    # After a run of its own calls: the last of them is followed by another optimizer.
    size = len(period)
    at = next(i for i in range(size) if period[i] == end and period[(i + 1) % size] != end)
    return [period[(at + 1 + i) % size] for i in range(size)], size - 1 - at
