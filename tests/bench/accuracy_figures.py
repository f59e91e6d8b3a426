"""The pure parts of `./dev bench accuracy`: which batch sizes are checked, how far off they were, and how many held."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import comb, exp, hypot, log
from statistics import mean, median
from typing import Any

COVERAGE_AIM = 0.95


def draw_log_uniform(generator: random.Random, allowed: Sequence[int], count: int) -> list[int]:
    """`count` distinct sizes of `allowed`, log-uniform between its ends; all where there are no more."""
    if len(allowed) <= count:
        return sorted(allowed)
    low, high = log(min(allowed) - 0.5), log(max(allowed) + 0.5)
    chosen: set[int] = set()
    remaining = set(allowed)
    while len(chosen) < count:
        size = round(exp(generator.uniform(low, high)))
        if size in remaining:
            remaining.remove(size)
            chosen.add(size)
    return sorted(chosen)


def draw_sizes(seed: str, sampled: Iterable[int], count: int) -> tuple[list[int], list[int]]:
    """Batch sizes to check: `count` between the sampled ones, and `count` beyond them, from half of the smallest to
    twice the largest. None of them is sampled. The same seed and sampled sizes give the same sizes."""
    known = set(sampled)
    smallest, largest = min(known), max(known)
    generator = random.Random(seed)
    inside = [size for size in range(smallest, largest + 1) if size not in known]
    outside = [*range(math.ceil(smallest / 2), smallest), *range(largest + 1, 2 * largest + 1)]
    return draw_log_uniform(generator, inside, count), draw_log_uniform(generator, outside, count)


def place_of(size: int, sampled: Iterable[int]) -> str:
    """Where a checked size lies: `inside` of the sampled ones, `outside` within half and twice, or `beyond` that."""
    known = list(sampled)
    if min(known) <= size <= max(known):
        return "inside"
    return "outside" if min(known) / 2 <= size <= 2 * max(known) else "beyond"


def beyond_noise(error: float, *noises: float) -> float:
    """What is left of an error when independent noises are taken off it; 0 when they explain all of it."""
    return max(0.0, abs(error) - hypot(*noises))


def distance_outside(estimate: dict[str, Any], real: float) -> float | None:
    """How far a real figure lies outside of an estimate's interval, as a part of it: 0 inside; None: no interval."""
    interval = estimate["interval"]
    if interval is None:
        return None
    if real < interval["low"]:
        return interval["low"] / real - 1
    high = interval["high"]
    return 0.0 if high is None or real <= high else 1 - high / real


def half_width(estimate: dict[str, Any]) -> float | None:
    """Half of an interval, as a part of the figure; infinite where nothing bounds it, none without interval."""
    interval = estimate["interval"]
    if interval is None:
        return None
    high = interval["high"]
    return math.inf if high is None else (high - interval["low"]) / 2 / estimate["value"]


def binomial_at_most(hits: int, trials: int, chance: float) -> float:
    """The probability of at most so many hits."""
    return sum(comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(hits + 1))


def coverage_bounds(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a fraction (Clopper and Pearson, Biometrika 1934)."""
    tail = (1 - confidence) / 2

    def solve(too_low: Callable[[float], bool]) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if too_low(middle) else (low, middle)
        return (low + high) / 2

    lower = 0.0 if hits == 0 else solve(lambda p: 1 - binomial_at_most(hits - 1, trials, p) < tail)
    upper = 1.0 if hits == trials else solve(lambda p: binomial_at_most(hits, trials, p) > tail)
    return lower, upper


@dataclass(frozen=True)
class Figure:
    """One checked batch size. Errors are parts of the real figure; none where the models say nothing."""

    batch_size: int
    place: str  # inside, outside or beyond: see place_of
    real_ms: float
    noise: float  # A/A noise of this size's own measurement
    samples_noise: float  # A/A noise of what the time model was fitted to
    time: float | None = None  # of throughput: real over predicted time, less one
    time_outside: float | None = None  # how far the real time lies outside of its interval
    time_width: float | None = None  # half of that interval
    memory: float | None = None
    memory_place: str = "inside"  # likewise, of the sizes whose peak was sampled
    memory_outside: float | None = None

    @property
    def time_beyond_noise(self) -> float | None:
        return None if self.time is None else beyond_noise(self.time, self.noise, self.samples_noise)

    @property
    def time_held(self) -> bool | None:
        """Whether the real time was inside of its interval. None without a prediction; no interval holds nothing."""
        return None if self.time is None else self.time_outside == 0

    @property
    def time_held_beyond_noise(self) -> bool | None:
        """Likewise, when a distance that the noise of this very measurement explains is forgiven."""
        if self.time is None or self.time_outside is None:
            return self.time_held
        return beyond_noise(self.time_outside, self.noise) == 0

    @property
    def memory_held(self) -> bool | None:
        return None if self.memory is None else self.memory_outside == 0


def figure_of(check: dict[str, Any], models: dict[str, Any]) -> Figure:
    """The figure for an element of a report's `checks`, with its `models`."""
    size = check["batchSize"]
    time, peak = check["predicted"]["timeMs"], check["predicted"]["peakBytes"]
    return Figure(
        batch_size=size,
        place=place_of(size, (sample["batchSize"] for sample in models["time"]["samples"])),
        real_ms=check["timeMs"],
        noise=check["aaNoise"],
        samples_noise=models["time"]["aaNoise"],
        time=time and check["timeMs"] / time["value"] - 1,
        time_outside=time and distance_outside(time, check["timeMs"]),
        time_width=time and half_width(time),
        memory=peak and peak["value"] / check["peakBytes"] - 1,
        memory_place=place_of(size, (sample["batchSize"] for sample in models["memory"]["samples"])),
        memory_outside=peak and distance_outside(peak, check["peakBytes"]),
    )


def mean_and_worst(errors: Iterable[float | None], digits: int = 1) -> str:
    """The mean and the worst of the errors that there are, in percent."""
    known = [abs(error) for error in errors if error is not None]
    if not known:
        return "–"
    return f"{100 * mean(known):.{digits}f} / {100 * max(known):.{digits}f}"


def fraction(held: Iterable[bool | None]) -> str:
    known = [inside for inside in held if inside is not None]
    return f"{sum(known)} of {len(known)}" if known else "–"


def coverage(held: Iterable[bool | None]) -> str:
    """`46 of 48 (96 %), 95 % bounds 86 to 99 %`, and the probability of at most that many if the aim were met."""
    known = [inside for inside in held if inside is not None]
    if not known:
        return "nothing was predicted"
    hits, trials = sum(known), len(known)
    low, high = coverage_bounds(hits, trials)
    chance = 100 * binomial_at_most(hits, trials, COVERAGE_AIM)
    return (
        f"{hits} of {trials} ({100 * hits / trials:.0f} %), 95 % bounds {100 * low:.0f} to {100 * high:.0f} %; "
        f"if {100 * COVERAGE_AIM:.0f} % of all held, the probability of at most this many would be "
        f"{chance:.{0 if chance >= 10 else 1}f} %"
    )


def typical_width(figures: Iterable[Figure]) -> str:
    """The median of the intervals' half-widths, in percent: an interval that holds says little when it is wide."""
    widths = [figure.time_width for figure in figures if figure.time_width is not None]
    if not widths:
        return "–"
    return "unbounded" if math.isinf(median(widths)) else f"±{100 * median(widths):.0f}"
