"""What the system allows this process of the machine: memory, and the time of processors.

As server/base/machine_limits.h has it, for processes that a launcher or another machine started; the tests of both read
tests/data/machine_limits.json.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT = 2**64 - 1


@dataclass(frozen=True)
class MachineLimits:
    memory_bytes: int  # that processes here may use in all; 0: unknown
    available_bytes: int  # that could be allocated now without pushing anything else out
    processors: float | None  # how many processors' time a control group allows; None: all of it


def machine_limits(root: str = "/") -> MachineLimits:
    """Never fails: what cannot be read does not limit."""
    top = Path(root)
    memory = 1024 * _entry(top / "proc/meminfo", "MemTotal:", 0)
    available = 1024 * _entry(top / "proc/meminfo", "MemAvailable:", 0)
    for limit, used in _memory_limits(top):
        memory = min(memory, limit)
        available = min(available, max(0, limit - used))
    return MachineLimits(memory, available, min(_processors(top), default=None))


def usable_processors() -> float:
    """Processors' worth of time: those that this process may run on, or less where its control group allows less."""
    allowed = float(len(os.sched_getaffinity(0)))
    return min(allowed, machine_limits().processors or allowed)


def _memory_limits(top: Path) -> Iterator[tuple[int, int]]:
    """The limit of each group, and what is used of it without what can be reclaimed."""
    for group in _groups(top, "memory", unified=True):
        stat = group / "memory.stat"
        reclaimable = sum(_entry(stat, name, 0) for name in ("inactive_file", "active_file", "slab_reclaimable"))
        limit = min(_number(group / name, _NO_LIMIT) for name in ("memory.max", "memory.high"))
        yield limit, _number(group / "memory.current", 0) - reclaimable
    for group in _groups(top, "memory", unified=False):
        stat = group / "memory.stat"
        reclaimable = sum(_entry(stat, name, 0) for name in ("total_inactive_file", "total_active_file"))
        # The second is what groups allow that are above all that the mount shows.
        limit = min(
            _number(group / "memory.limit_in_bytes", _NO_LIMIT), _entry(stat, "hierarchical_memory_limit", _NO_LIMIT)
        )
        yield limit, _number(group / "memory.usage_in_bytes", 0) - reclaimable
        if _number(group.parent / "memory.use_hierarchy", 1) == 0:
            return  # groups above it do not limit it


def _processors(top: Path) -> Iterator[float]:
    for group in _groups(top, "cpu", unified=True):
        words = (_text(group / "cpu.max").split() + ["", ""])[:2]
        if all(word.isdecimal() and int(word) for word in words):
            yield int(words[0]) / int(words[1])
    for group in _groups(top, "cpu", unified=False):
        quota, period = (_number(group / f"cpu.cfs_{name}_us", 0) for name in ("quota", "period"))
        if quota and period:
            yield quota / period


def _groups(top: Path, controller: str, *, unified: bool) -> list[Path]:
    """The control groups of this process that limit one resource, the innermost first."""
    path = None
    for line in _text(top / "proc/self/cgroup").splitlines():
        number, controllers, place = ([*line.split(":", 2), "", ""])[:3]
        if (number == "0" and not controllers) if unified else (controller in controllers.split(",")):
            path = place
    for line in _text(top / "proc/self/mountinfo").splitlines():
        words = line.split()
        dash = words.index("-") if "-" in words else len(words)
        if not path or len(words) - dash < 4 or dash < 6 or words[dash + 1] != ("cgroup2" if unified else "cgroup"):
            continue
        if unified or controller in words[dash + 3].split(","):
            mount = top / _unescaped(words[4]).lstrip("/")
            folder = _below(mount, _unescaped(words[3]), path)
            return [folder, *(above for above in folder.parents if above == mount or mount in above.parents)]
    return []


def _below(mount: Path, mounted: str, path: str) -> Path:
    """The folder of `path` below a mount that shows what is below `mounted`; the mount where it does not show it."""
    prefix = "" if mounted == "/" else mounted
    if not path.startswith(prefix + "/") or "/.." in path:
        return mount
    folder = mount / path[len(prefix) :].lstrip("/")
    while folder != mount and not folder.is_dir():
        folder = folder.parent
    return folder


def _unescaped(text: str) -> str:
    """Decodes a field of a table of mounts, where "\\040" is a blank."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _number(path: Path, otherwise: int) -> int:
    text = _text(path).strip()
    return int(text) if text.isdecimal() else otherwise


def _entry(path: Path, key: str, otherwise: int) -> int:
    for line in _text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == key and words[1].isdecimal():
            return int(words[1])
    return otherwise
