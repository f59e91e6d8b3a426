"""The whole time of a script while its steps are timed: the steps, and what lies between them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from ridgeline_runner.common import timing

LONG = 4  # a step that takes this many times the usual contains something else
OTHER = "other work"
LONG_STEP = "much longer than usual"
OTHER_RUNS = "its optimizer ran the closure more or less often than in the recorded ones"
_MOST_STEPS = 1 << 17
_WHOLE_CYCLES = 2
_WORTH_WAITING = 0.1  # part of the time
_ALIKE = 1.25  # ratio of runs of the closure: within it, the shares of the lines hold


def is_like_recorded(closure_runs: int, recorded: Collection[int]) -> bool:
    """Whether a step in which an optimizer ran its closure so often does the work of the recorded ones."""
    return not recorded or min(recorded) / _ALIKE <= closure_runs <= max(recorded) * _ALIKE


class WholeTime:
    """Steps that were timed, the left out ones included."""

    def __init__(self) -> None:
        self._ns: list[int] = []
        self._outside_ns: list[int] = []
        self._happened: list[dict[str, int]] = []

    def step_ended(self, ns: int, outside_ns: int, happened: dict[str, int]) -> None:
        """`outside_ns`: of `ns`, before the first backward pass and after the last one, without the time in which the
        thread waited for a processor. `happened`: what else the step contained, by name, in nanoseconds."""
        if len(self._ns) < _MOST_STEPS:
            self._ns.append(ns)
            self._outside_ns.append(outside_ns)
            self._happened.append(happened)

    def _other_work(self) -> list[dict[str, int]]:
        """By step: what it contained beside itself, by name."""
        ordinary = [i for i, happened in enumerate(self._happened) if not happened]
        if not ordinary:
            return self._happened
        usual = timing.median([self._ns[i] for i in ordinary])
        outside = timing.median([self._outside_ns[i] for i in ordinary])
        more = [ns - outside for ns in self._outside_ns]
        rest = [ns - sum(happened.values()) for ns, happened in zip(more, self._happened, strict=True)]
        return [
            {**happened, OTHER: round(rest[i])} if rest[i] > (LONG - 1) * usual else happened
            for i, happened in enumerate(self._happened)
        ]

    def awaits_cycle(self, *, is_expected: bool) -> bool:
        """Whether something between steps takes a part of the time that is not known yet, for want of repetition;
        `is_expected`: something was seen before these steps."""
        others = [one for one in self._other_work() if one]
        if not others:
            return is_expected
        spent = sum(sum(one.values()) for one in others)
        return len(others) <= _WHOLE_CYCLES and spent > _WORTH_WAITING * sum(self._ns)

    def description(self, samples: Sequence[int]) -> dict[str, Any] | None:
        """As protocol/script_run.h has it; None where no step was timed. `samples` of each step; empty: unknown."""
        if not self._ns:
            return None
        others = self._other_work()
        at = [i for i, other in enumerate(others) if other]
        is_whole = len(at) > _WHOLE_CYCLES or not at
        window = range(at[0] + 1, at[-1] + 1) if at and is_whole else range(len(self._ns))
        counts: Counter[str] = Counter()
        spent: Counter[str] = Counter()
        for i in window:
            counts.update(others[i].keys())
            spent.update(others[i])
        usual = [i for i in range(len(self._ns)) if not others[i]]
        return {
            "steps": len(window),
            "ns": sum(self._ns[i] for i in window),
            "samples": sum(samples[i] for i in window if i < len(samples)),
            "usualNs": sum(self._ns[i] for i in usual),
            "usualSamples": sum(samples[i] for i in usual if i < len(samples)),
            "isWhole": is_whole,
            "parts": [{"name": name, "count": counts[name], "ns": spent[name]} for name in spent],
        }


class LeftOut:
    """Steps that are neither recorded nor timed, for what happened in them, and the most memory of the steps seen."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._ns: Counter[str] = Counter()
        self._peaks: Counter[str] = Counter()
        self._largest = (0, -1, "")  # bytes, number of the step, what it contained
        self._observed = 0

    @property
    def has_any(self) -> bool:
        return bool(self._counts)

    def add(self, reason: str, ns: int) -> None:
        self._counts[reason] += 1
        self._ns[reason] += ns

    def observe(self, peak_bytes: int, step: int, reason: str) -> None:
        """`step`: its number among those whose samples are known; `reason`: why it is left out, or empty."""
        self._observed += 1
        if reason:
            self._peaks[reason] = max(self._peaks[reason], peak_bytes)
        self._largest = max(self._largest, (peak_bytes, step, reason))

    def description(self, samples: Sequence[int]) -> dict[str, Any]:
        """The members "leftOut" and "largest" of protocol/script_run.h."""
        peak, step, reason = self._largest
        return {
            "leftOut": [
                {"reason": name, "count": self._counts[name], "ns": self._ns[name], "peakBytes": self._peaks[name]}
                for name in list(self._counts)[:16]
            ],
            "largest": {
                "steps": self._observed,
                "bytes": peak,
                "samples": samples[step] if 0 <= step < len(samples) else 0,
                "reason": reason,
            },
        }
