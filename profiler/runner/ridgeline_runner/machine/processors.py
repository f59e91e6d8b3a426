"""How fast the processors run, and how much of them others use, as the kernel reports it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time_ns  # before user code can replace them

from ridgeline_runner.common.descendants import descendants
from ridgeline_runner.machine.machine_limits import usable_processors

_SECONDS_BETWEEN = 0.25  # the kernel queries every processor
_LEAST_SECONDS = 0.1  # of the machine's time; less is a few ticks of the kernel's clock
_SPARE = 0.1  # part of the processors that is idle when nobody waits for one
_OTHERS = 0.1  # part of the processors that others use when the step's times are not its own


class ProcessorWatch:
    """While the step is timed: the slowest and the fastest clock seen, MHz, 0 and 0 where the kernel reports none; and
    the processors that others used, where that left too few, else None."""

    def __init__(self) -> None:
        self.others_used: float | None = None
        self.own_share: float | None = None  # of the processors that this process may use; None: not measured
        self._before: Usage | None = None
        self._files = sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
        self._seen: list[float] = []
        self._next_sample = 0.0

    def begin(self) -> None:
        self._before = Usage.now()

    def end(self, own_seconds: float = 0.0) -> None:
        """`own_seconds`: what processes that are neither this one nor below it used for it."""
        before = self._before and replace(self._before, own=self._before.own - own_seconds)
        self.others_used = others_used(before, Usage.now(), os.cpu_count() or 1)

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


def with_share(times: Callable[[], list[int]]) -> tuple[list[int], float]:
    """What `times` measured, nanoseconds, and how much of the processors' time that this process may have it used
    meanwhile: 1 is all of it."""
    begin = process_time_ns()
    taken = times()
    return taken, (process_time_ns() - begin) / (sum(taken) * usable_processors())


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


def others_used(before: Usage | None, after: Usage | None, processors: int) -> float | None:
    """How many of the processors others used meanwhile, where they left too few; None: that is not so, or unknown."""
    if before is None or after is None:
        return None
    busy = after.busy - before.busy
    idle = after.idle - before.idle
    others = busy - (after.own - before.own)
    if busy + idle < _LEAST_SECONDS or idle > _SPARE * (busy + idle) or others < _OTHERS * (busy + idle):
        return None
    return processors * others / (busy + idle)


def _seconds_of(process: int, ticks: int) -> float:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0  # it has ended
    return sum(int(word) for word in text.rpartition(")")[2].split()[11:15]) / ticks


class RunDelay:
    """How long the thread that asks has been ready to run and had no processor, where Linux counts that."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._thread = 0

    def ns(self) -> int:
        """In nanoseconds since the thread began; 0: unknown."""
        try:
            if self._thread != threading.get_native_id():
                self._thread = threading.get_native_id()
                self.close()
                self._file = os.open(f"/proc/self/task/{self._thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
            return int(os.pread(self._file, 96, 0).split()[1]) if self._file is not None else 0
        except (OSError, ValueError, IndexError):
            return 0

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
