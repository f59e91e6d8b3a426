"""What the training step takes of energy: by the counters of processors and devices, which the machine may not have, or
may not let everybody read."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep  # before user code can replace them
from typing import Any

_ROUNDS = 6  # their range holds the median with 97 %: timing.median_interval_ranks
_PAUSE_SECONDS, _ROUND_SECONDS = 0.5, 0.2
_PAUSE_SECONDS_OF_DEVICE, _ROUND_SECONDS_OF_DEVICE = 1.5, 0.7  # its counter is renewed some ten times a second
_MOST_WATTS = 1000.0  # of what one counter counts; a counter that may have begun anew twice says nothing
_READABLE = (
    "`sudo chmod a+r /sys/class/powercap/*/energy_uj` lets everybody read them until the machine starts again. Whoever "
    "can read them may find out what others compute (CVE-2020-8694): do that on a machine of your own only"
)


@dataclass(frozen=True)
class Counter:
    """`read` gives microjoules, and raises OSError. `range_uj`: after that it begins at 0 again; 0: it does not."""

    name: str
    of: str  # "processor", "memory", "device"
    read: Callable[[], int]
    range_uj: int = 0

    def spent_uj(self, before: int, after: int) -> int:
        """Between two readings, where it has begun again at most once."""
        return after - before + (self.range_uj if after < before else 0)


@dataclass
class Counters:
    found: list[Counter] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # why one that there is, or should be, cannot be read


def powercap_root() -> Path:
    return Path(os.environ.get("RIDGELINE_POWERCAP", "/sys/class/powercap"))


def processor_counters(root: Path) -> Counters:
    """RAPL, of Intel's and AMD's processors: packages, and memory, which no package counts. Cores and graphics are
    parts of a package, and psys counts packages again, as a second interface (intel-rapl-mmio) does."""
    zones = sorted(root.glob("*:*"), key=lambda zone: (len(zone.name.partition(":")[0]), zone.name))
    counters, problems = {}, set()
    for zone in zones:
        try:
            name = (zone / "name").read_text().strip()
            of = "memory" if name == "dram" else "processor" if name.startswith("package-") else ""
            if not of or not (zone / "energy_uj").exists():
                continue
            package = (zone.parent / ":".join(zone.name.split(":")[:2]) / "name").read_text().strip()
            counter = Counter(
                name if of == "processor" else f"{name} of {package}",
                of,
                lambda file=zone / "energy_uj": int(file.read_text()),  # type: ignore[misc]
                int((zone / "max_energy_range_uj").read_text()),
            )
            counter.read()
            counters.setdefault(counter.name, counter)
        except PermissionError:
            problems.add(f"The processors' energy counters may not be read by this user: {_READABLE}.")
        except (OSError, ValueError) as problem:
            problems.add(f"The energy counter {zone} cannot be read: {problem}.")
    if not counters and not problems:
        problems.add(f"There is no energy counter of the processors in {root}: virtual machines mostly have none.")
    return Counters(list(counters.values()), sorted(problems))


def longest_seconds(iteration_seconds: float, seconds: float) -> float:
    """What measure() may take."""
    return _PAUSE_SECONDS_OF_DEVICE + max(seconds, iteration_seconds) + 2 * iteration_seconds


def measure(
    run: Callable[[int], Any], iteration_seconds: float, counters: Counters, seconds: float
) -> dict[str, Any] | None:
    """The energy of an iteration, for the result; None where nothing counts, or why is among the problems now. `run`
    does so many iterations. Takes `seconds` at most, but for a pause before, and for two iterations."""
    pause = _pause_seconds(counters)
    per_round = max(_round_seconds(counters), iteration_seconds)
    counted = [counter for counter in counters.found if _is_certain(counter, 2 * per_round)]
    if len(counted) < len(counters.found):
        counters.problems.append("An iteration takes so long that an energy counter may begin anew more than once.")
    if not counted:
        return None
    try:
        idle = _Span.of(counted, lambda: sleep(pause))
        run(1)  # after the pause, caches and clocks are not those of a running step
        count = math.ceil(per_round / iteration_seconds)
        rounds = [
            _Span.of(counted, lambda: run(count), count) for _ in range(max(1, min(_ROUNDS, int(seconds / per_round))))
        ]
    except OSError as problem:
        counters.problems.append(f"An energy counter could not be read any more: {problem}.")
        return None
    return _result_or_problem(counters, counted, idle, rounds)


class StepsMeter:
    """The energy of steps that something else runs, in rounds of some of them one after the other."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._rounds: list[_Span] = []
        self._steps = 0
        self._began = 0.0
        self._before: list[int] = []

    def begin(self) -> None:
        """A round begins with the next step; one that has not ended counts nothing."""
        self._steps = 0
        try:
            self._before = [counter.read() for counter in self._counters.found]
        except OSError as problem:
            self._stop(problem)
        self._began = perf_counter()

    def step_ended(self, *, is_usual: bool) -> None:
        """Only usual steps count."""
        if not self._counters.found:
            return
        if not is_usual:
            self.begin()
            return
        self._steps += 1
        seconds = perf_counter() - self._began
        if seconds < _round_seconds(self._counters):
            return
        try:
            after = [counter.read() for counter in self._counters.found]
        except OSError as problem:
            self._stop(problem)
            return
        self._rounds.append(_Span.between(self._counters.found, self._before, after, seconds, self._steps))
        self.begin()

    def result(self) -> dict[str, Any] | None:
        """As of measure(). Pauses, to see what the machine takes idle."""
        rounds = self._rounds
        if not rounds or not self._counters.found:
            return None
        longest = max(span.seconds for span in rounds)
        if not all(_is_certain(counter, longest) for counter in self._counters.found):
            self._counters.problems.append("A step takes so long that an energy counter may begin anew more than once.")
            return None
        try:
            idle = _Span.of(self._counters.found, lambda: sleep(_pause_seconds(self._counters)))
        except OSError as problem:
            self._stop(problem)
            return None
        return _result_or_problem(self._counters, self._counters.found, idle, rounds)

    def _stop(self, problem: OSError) -> None:
        self._counters.found.clear()
        self._counters.problems.append(f"An energy counter could not be read any more: {problem}.")


@dataclass(frozen=True)
class _Span:
    seconds: float
    joules: list[float]  # by counter
    iterations: int

    @staticmethod
    def of(counters: Iterable[Counter], run: Callable[[], Any], iterations: int = 0) -> _Span:
        counters = list(counters)
        before = [counter.read() for counter in counters]
        began = perf_counter()
        run()
        seconds = perf_counter() - began
        return _Span.between(counters, before, [counter.read() for counter in counters], seconds, iterations)

    @staticmethod
    def between(counters: list[Counter], before: list[int], after: list[int], seconds: float, iterations: int) -> _Span:
        spent = [counter.spent_uj(*pair) for counter, *pair in zip(counters, before, after, strict=True)]
        return _Span(seconds, [uj / 1e6 for uj in spent], iterations)


def _pause_seconds(counters: Counters) -> float:
    return _PAUSE_SECONDS_OF_DEVICE if _has_device(counters) else _PAUSE_SECONDS


def _round_seconds(counters: Counters) -> float:
    return _ROUND_SECONDS_OF_DEVICE if _has_device(counters) else _ROUND_SECONDS


def _has_device(counters: Counters) -> bool:
    return any(counter.of == "device" for counter in counters.found)


def _is_certain(counter: Counter, seconds: float) -> bool:
    return counter.range_uj == 0 or seconds * _MOST_WATTS * 1e6 < counter.range_uj


def _result_or_problem(
    counters: Counters, counted: list[Counter], idle: _Span, rounds: list[_Span]
) -> dict[str, Any] | None:
    result = _result(counted, idle, rounds)
    if result is None:
        counters.problems.append("An energy counter stood still, or was set back, while the step ran.")
    return result


def _result(counters: list[Counter], idle: _Span, rounds: list[_Span]) -> dict[str, Any] | None:
    iterations = sum(span.iterations for span in rounds)
    joules = [sum(span.joules[i] for span in rounds) / iterations for i in range(len(counters))]
    of_rounds = [sum(span.joules) / span.iterations for span in rounds]
    if min([*joules, *idle.joules]) < 0 or min(of_rounds) <= 0:
        return None
    return {
        "counters": [
            {"name": counter.name, "of": counter.of, "joules": joules[i], "idleWatts": idle.joules[i] / idle.seconds}
            for i, counter in enumerate(counters)
        ],
        "joules": sum(joules),
        "low": min(of_rounds),
        "high": max(of_rounds),
        "iterations": iterations,
        "rounds": len(rounds),
        "iterationMs": sum(span.seconds for span in rounds) / iterations * 1e3,
    }
