"""The measurements of one batch size, and how many iterations they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ridgeline_runner.common import timing
from ridgeline_runner.step.training_step import SLOW_SECONDS

MIN_ROUNDS = 6
_LEAST_APART_SECONDS = 0.05  # of a step that is worth processes of its own
ROUND_SECONDS = 0.03
WANTED_SIZES = 3
_WANTED_HALF_WIDTH = 0.01
_DISTURBED_HALF_WIDTH = 0.1
_SHORT_SECONDS = 0.02  # of a step that is shorter
_LEAST_OF_SHORT = 8  # this many timed iterations follow an untimed one, so that that takes little of the time
_ALL_EVERY = 4  # rounds: then known batch sizes are timed too, so that all are timed on the same machine state
_RECORDED_SHARE, _RECORDED_SECONDS = 0.1, 1.0  # of the time budget, and at most
_MIN_RECORDED, _MAX_RECORDED = 3, 30
_SLOW_RECORDED = 2
_OTHERS_RECORDED_SHARE = 0.3  # of what the user's batch size gets
_OTHERS_MAX_RECORDED = 10
_SECONDS_OF_FAULT = 1e-6  # for a page that the kernel clears, at least
_FETCHING_SHARE = 0.02
_LEAST_FAULTS = 256  # of an iteration; recording it costs some, too


@dataclass
class Sampled:
    """The measurements of one batch size."""

    batch_size: int
    check: bool = False  # not fitted: measures the error of the models
    warmup_ns: list[int] = field(default_factory=list)
    round_seconds: float = ROUND_SECONDS
    least_rounds: int = MIN_ROUNDS
    iterations: int = 0  # that were timed
    page_faults: float = 0.0  # of a recorded iteration: pages that the kernel gave it
    round_medians_ns: list[float] = field(default_factory=list)
    processor_shares: list[float] = field(default_factory=list)  # of the rounds, as with_share() has them

    @property
    def estimate_ns(self) -> int:
        return max(1, min(self.warmup_ns))

    @property
    def iterations_per_round(self) -> int:
        """Iterations of each timed round: all are as long as the first. 0: none was timed."""
        return self.iterations // len(self.round_medians_ns) if self.round_medians_ns else 0

    @property
    def per_round(self) -> int:
        """Iterations of one round of timing."""
        return self.iterations_per_round or max(1, min(50, round(self.round_seconds * 1e9 / self.estimate_ns)))

    @property
    def round_estimate_seconds(self) -> float:
        """The estimated time of a round: its timed iterations and the untimed one before them."""
        return (self.per_round + 1) * self.estimate_ns / 1e9

    @property
    def enough_rounds(self) -> bool:
        return len(self.round_medians_ns) >= self.least_rounds

    @property
    def is_known(self) -> bool:
        return self.enough_rounds and timing.relative_half_width(self.round_medians_ns) <= _WANTED_HALF_WIDTH

    @property
    def is_disturbed(self) -> bool:
        """Whether its rounds differ so much that its time says little."""
        return self.enough_rounds and timing.relative_half_width(self.round_medians_ns) > _DISTURBED_HALF_WIDTH

    @property
    def fetches_memory(self) -> bool:
        """Whether its iterations get memory from the kernel for a part of their time that can be seen."""
        return self.page_faults > _LEAST_FAULTS and self.fetching_share > _FETCHING_SHARE

    @property
    def fetching_share(self) -> float:
        """The part of an iteration in which it gets memory from the kernel, at least."""
        return self.page_faults * _SECONDS_OF_FAULT / (self.estimate_ns / 1e9)


def are_timed_apart(sampled: Sequence[Sampled]) -> bool:
    """Whether steps on the host are to be timed in processes of their own: where one of them gets memory from the
    kernel, a process that runs them all keeps it. The first is the user's step."""
    return sampled[0].estimate_ns >= _LEAST_APART_SECONDS * 1e9 and any(s.fetches_memory for s in sampled)


def round_seconds(warmup_ns: list[int], budget_seconds: float) -> float:
    """The duration of one round: shorter than usual where the budget would not hold the least number of rounds, with
    the untimed iteration that each begins with."""
    usual, step = ROUND_SECONDS, min(warmup_ns) / 1e9
    if step < _SHORT_SECONDS:
        usual = max(usual, _LEAST_OF_SHORT * step)
    return min(usual, max(0.0, budget_seconds / (MIN_ROUNDS * WANTED_SIZES) - step))


def recorded_iterations(sampled: Sampled, budget_seconds: float, *, chosen: bool) -> int:
    """How many iterations to record: the chosen batch size gives the figures of every line, the others show which of
    them grow."""
    seconds = min(_RECORDED_SECONDS, _RECORDED_SHARE * budget_seconds)
    least, most = _MIN_RECORDED, _MAX_RECORDED
    if sampled.estimate_ns > SLOW_SECONDS * 1e9:
        least = _SLOW_RECORDED
    if not chosen:
        seconds, least, most = _OTHERS_RECORDED_SHARE * seconds, 1, _OTHERS_MAX_RECORDED
    return min(most, max(least, math.ceil(seconds * 1e9 / sampled.estimate_ns)))


def due(sampled: list[Sampled], cycle: int, *, is_over: bool = False) -> list[Sampled]:
    """The batch sizes to time in a cycle: sometimes all, else those with too few rounds, else those not known yet. When
    the time is over: those that were disturbed."""
    if is_over:
        return [s for s in sampled if s.is_disturbed]
    if cycle % _ALL_EVERY == 0:
        return sampled
    return [s for s in sampled if not s.enough_rounds] or [s for s in sampled if not s.is_known]
