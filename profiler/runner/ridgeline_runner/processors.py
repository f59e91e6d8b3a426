"""How fast the processors run right now, as the kernel reports it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter  # before user code can replace it

_SECONDS_BETWEEN = 0.25  # the kernel queries every processor


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
