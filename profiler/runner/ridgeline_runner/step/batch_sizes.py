"""The batch sizes that a run measures besides the user's: candidates, their budget, and those the daemon chooses."""

from __future__ import annotations

import math
import resource
from collections.abc import Sequence

from ridgeline_runner.common.channel import Channel
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.step.fresh_process import has_memory
from ridgeline_runner.step.samples import MIN_ROUNDS, ROUND_SECONDS, Sampled

_EXTRA_ITERATIONS = 10  # that one more batch size costs: warm-up, recording, rounds
_EXTRA_SHARE = 1 / 3  # of the time budget that it may cost
_QUICK_ITERATIONS = 5  # that a batch size costs which is recorded for one iteration only
_QUICK_SHARE = 0.03
_MEMORY_SHARE = 0.8  # of the memory, that a batch size which the user did not request may need
_LARGEST_RATIO = 64.0  # of a batch size that the user did not request to the largest that was
_ANSWER_SECONDS = 2.0
_MAX_SENT = 1024  # medians of rounds that the daemon is sent of one batch size


def candidates(chosen: int, *, slow: bool = False) -> list[int]:
    """Other batch sizes to try, until there are enough: half, twice, then those between and below. `slow`: one
    iteration takes more than the time budget; then smaller ones first, which take half of the time together."""
    sizes = [chosen // 2, chosen * 2, chosen * 3 // 2, chosen * 3 // 4, chosen // 4, chosen + 1, chosen + 2, chosen * 4]
    if slow:
        sizes = [chosen // 2, chosen // 4, chosen * 3 // 4, *sizes]
    unique = dict.fromkeys(size for size in sizes if size >= 1 and size != chosen)
    return list(unique)


def extra(chosen: int) -> list[int]:
    """Batch sizes that widen what the models are fitted to, for a step that is fast enough."""
    return [size for size in (chosen // 4, chosen * 3, chosen * 3 // 2) if size >= 1]


def quick(chosen: int) -> list[int]:
    """Batch sizes that show how memory grows farther away, for a very fast step."""
    return [size for size in (chosen // 8, chosen * 6) if size >= 1]


class Budget:
    """What batch sizes that the user did not request may cost: of the run's time, and of memory."""

    def __init__(self, seconds: float, memory_limit_bytes: int, device: Device) -> None:
        """`memory_limit_bytes` of the host, 0 when unknown."""
        self.seconds = seconds
        self._memory_limit_bytes = memory_limit_bytes
        self._device = device

    def has_time(self, size: int, sampled: list[Sampled], *, quick: bool = False) -> bool:
        """Whether there is time for one more batch size, judging by the others. One that is recorded quickly must
        hardly be noticed."""
        estimate_ns = self.estimate_ns(size, sampled)
        cost_ns = max(_EXTRA_ITERATIONS * estimate_ns, MIN_ROUNDS * ROUND_SECONDS * 1e9)
        budget_ns = self.seconds * 1e9
        if quick and _QUICK_ITERATIONS * estimate_ns > _QUICK_SHARE * budget_ns:
            return False
        return cost_ns <= _EXTRA_SHARE * budget_ns

    def estimate_ns(self, size: int, sampled: Sequence[Sampled]) -> float:
        """What an iteration takes at most, judging by the batch sizes that have run."""
        larger = [s.estimate_ns for s in sampled if s.batch_size >= size]
        most = max(sampled, key=lambda s: s.batch_size)
        return min(larger) if larger else most.estimate_ns * size / most.batch_size

    def largest(self, sampled: list[Sampled], failed: list[int]) -> int:
        """The largest batch size that memory allows, as far as is known: in proportion to what was needed so far, and
        below what failed."""
        largest = max(s.batch_size for s in sampled)
        most = math.floor(largest * _MEMORY_SHARE / max(self._memory_used(), _MEMORY_SHARE / _LARGEST_RATIO))
        too_large = [size for size in failed if size > largest]
        return min(most, *(size - 1 for size in too_large)) if too_large else most

    def has_memory_twice(self) -> bool:
        """Whether another process can run the largest batch size so far, beside what this one keeps."""
        return has_memory(self._memory_limit_bytes)

    def _memory_used(self) -> float:
        """The peak so far, as a share of the memory; 1 where that is not known."""
        limit = self._memory_limit_bytes
        used = _peak_resident_bytes() / limit if limit > 0 else 1.0
        return max(used, self._device.memory_used())


def _peak_resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Choices:
    """Asks the daemon, which has the time model, for further batch sizes to time."""

    def __init__(self, channel: Channel, first: list[int]) -> None:
        self._channel = channel
        self._first = first
        self._ended = False

    def next(self, sampled: list[Sampled], skipped: list[int], largest: int, seconds_left: float) -> list[int]:
        """An empty list once the daemon did not answer, chose none, or the time is spent."""
        if self._ended or seconds_left <= 0:
            return []
        tried = {s.batch_size for s in sampled} | set(skipped)
        answer = self._channel.ask(
            {
                "type": "choose",
                "secondsLeft": seconds_left,
                "roundSeconds": ROUND_SECONDS,
                "largestAffordable": largest,
                "first": self._first,
                "excluded": sorted(tried - {s.batch_size for s in sampled if not s.check}),
                "samples": [
                    {"batchSize": s.batch_size, "roundMediansNs": s.round_medians_ns[-_MAX_SENT:]}
                    for s in sampled
                    if not s.check
                ],
            },
            _ANSWER_SECONDS,
        )
        sizes = answer.get("batchSizes") if isinstance(answer, dict) else None
        is_valid = isinstance(sizes, list) and all(
            type(size) is int and 1 <= size <= largest and size not in tried for size in sizes
        )
        self._ended = not is_valid or not sizes
        return [] if self._ended else list(dict.fromkeys(sizes))
