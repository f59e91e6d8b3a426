"""The peak of a script's last training steps, counted without Ridgeline: by the memory events of torch.profiler.

`python observe_script_peak.py PARTS SCRIPT [ARGUMENT...]` runs the script under torch.profiler and prints the largest
number of live bytes during its last training step but one; PARTS is the number of optimizer steps in a training step.
"""

from __future__ import annotations

import os
import runpy
import sys

from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.profiler import ProfilerActivity, profile, record_function


def mark(*_: object) -> None:
    with record_function("a step has ended"):
        pass


def main(parts: int, script: str) -> int:
    """The step before the last: after the last one the script itself may do more."""
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    register_optimizer_step_post_hook(mark)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        runpy.run_path(script, run_name="__main__")
    events = profiler.profiler.kineto_results.events()
    ends = sorted(event.start_ns() for event in events if event.name() == "a step has ended")
    end = ends[-1 - parts]
    start = ends[-1 - 2 * parts]
    live = peak = 0
    for time, nbytes in sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]"):
        if start <= time <= end:
            peak = max(peak, live)
        live += nbytes
        if start <= time <= end:
            peak = max(peak, live)
    return peak


if __name__ == "__main__":
    parts = int(sys.argv[1])
    sys.argv = sys.argv[2:]
    print("peak", main(parts, sys.argv[0]))
