"""A script of somebody else's, measured without Ridgeline: `own_loop.py time|follow|peak LINE SCRIPT [ARGUMENT...]`.

Runs a copy of the script in memory, with a mark before the first line that begins with the text LINE: there a training
step ends. `time` and `follow` print the milliseconds of each step and those in which its thread ran, as JSON: the first
after some seconds, the other when the script ends. `peak` prints the largest number of live bytes in some steps, by the
memory events of torch.profiler.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

SECONDS = 4.0
PEAK_WARMUP, PEAK_STEPS = 6, 3


class Times:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._marks: list[tuple[float, float]] = []
        atexit.register(self._print)

    def mark(self) -> None:
        self._marks.append((perf_counter(), thread_time()))
        if self._marks[-1][0] - self._marks[0][0] > self._seconds and len(self._marks) > PEAK_WARMUP:
            self._print()
            os._exit(0)  # with what the script started

    def _print(self) -> None:
        steps = zip(self._marks, self._marks[1:], strict=False)
        print("\n" + json.dumps([[1e3 * (b - a) for a, b in zip(*step, strict=True)] for step in steps]), flush=True)


class Peak:
    def __init__(self) -> None:
        from torch.profiler import ProfilerActivity, profile

        self._marks = 0
        self._profiler = profile(activities=[ProfilerActivity.CPU], profile_memory=True)
        self._profiler.start()

    def mark(self) -> None:
        from torch.profiler import record_function

        with record_function("a step has ended"):
            pass
        self._marks += 1
        if self._marks < PEAK_WARMUP + PEAK_STEPS:
            return
        self._profiler.stop()
        events = self._profiler.profiler.kineto_results.events()
        begin = sorted(one.start_ns() for one in events if one.name() == "a step has ended")[PEAK_WARMUP - 1]
        live = peak = 0
        for time, nbytes in sorted((one.start_ns(), one.nbytes()) for one in events if one.name() == "[memory]"):
            live += nbytes
            if time >= begin:
                peak = max(peak, live, live - nbytes)
        print(f"\n{peak}", flush=True)
        os._exit(0)


def marked(text: str, line: str) -> str:
    """The script's text with a call of the mark before the first line that begins with `line`."""
    lines = text.splitlines()
    at = next(i for i, one in enumerate(lines) if one.strip().startswith(line))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at, f"{indent}__end_of_step__()")
    return "\n".join(lines)


def main(mode: str, line: str, script: str) -> None:
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    mark: Callable[[], None] = (Peak() if mode == "peak" else Times(SECONDS if mode == "time" else inf)).mark
    scope: dict[str, Any] = sys.modules["__main__"].__dict__
    scope |= {"__file__": script, "__end_of_step__": mark}
    exec(compile(marked(Path(script).read_text(), line), script, "exec"), scope)


if __name__ == "__main__":
    mode, line = sys.argv[1:3]
    sys.argv = sys.argv[3:]
    main(mode, line, sys.argv[0])
