"""How fast the processors run, and how much of them others use, as the kernel reports it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter  # before user code can replace it

from ridgeline_runner.descendants import descendants

_SECONDS_BETWEEN = 0.25  # the kernel queries every processor
_LEAST_SECONDS = 0.1  # of the machine's time; less is a few ticks of the kernel's clock
_SPARE = 0.1  # part of the processors that is idle when nobody waits for one
_OTHERS = 0.2  # part of the processors that others use when it is worth a word


class ClockWatch:
    """The slowest and the fastest clock seen, MHz; 0 and 0 where the kernel reports none."""

    def __init__(self) -> None:
        self._files = sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
        self._seen: list[float] = []
        self._next_sample = 0.0

    def sample(self) -> None:
        """To be called often; reads the clocks at intervals."""
        if perf_counter() < self._next_sample:
            return
        self._next_sample = perf_counter() + _SECONDS_BETWEEN
        try:
            now = [int(file.read_text()) / 1000 for file in self._files] or _clocks_in_cpuinfo()
        except (OSError, ValueError):
            now = []
        self._seen = [min(self._seen + now), max(self._seen + now)] if self._seen or now else []

    @property
    def low_mhz(self) -> float:
        return self._seen[0] if self._seen else 0.0

    @property
    def high_mhz(self) -> float:
        return self._seen[1] if self._seen else 0.0


def _clocks_in_cpuinfo() -> list[float]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]


@dataclass(frozen=True)
class Usage:
    """Seconds of all processors since the machine started: used by anyone, idle, and used by this process and those
    below it."""

    busy: float
    idle: float
    own: float

    @staticmethod
    def now() -> Usage | None:
        """None where the kernel does not report it."""
        try:
            ticks = os.sysconf("SC_CLK_TCK")
            fields = [int(word) / ticks for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
            user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen = fields
            own = sum(os.times()[:4]) + sum(_seconds_of(process, ticks) for process in descendants())
        except (OSError, ValueError):
            return None
        return Usage(user + nice + system + interrupts + soft_interrupts + stolen, idle + waiting, own)


def busy_warning(before: Usage | None, after: Usage | None, processors: int) -> str | None:
    """What to say of a time during which others left too little of the processors; None: nothing."""
    if before is None or after is None:
        return None
    busy = after.busy - before.busy
    idle = after.idle - before.idle
    others = busy - (after.own - before.own)
    if busy + idle < _LEAST_SECONDS or idle > _SPARE * (busy + idle) or others < _OTHERS * (busy + idle):
        return None
    used = processors * others / (busy + idle)
    return (
        f"The machine was busy while the steps were timed: others used {used:.1f} of its {processors} processors. "
        "The times are of that; run it again when the machine is idle."
    )


def _seconds_of(process: int, ticks: int) -> float:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0  # it has ended
    return sum(int(word) for word in text.rpartition(")")[2].split()[11:15]) / ticks
