"""The peak of an iteration counted without Ridgeline: by the memory events of torch.profiler.

`python observe_peak.py ENTRY BATCH_SIZE` builds the model and runs a few iterations, all under torch.profiler, and
prints the largest number of live bytes during the last one.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

ITERATIONS = 4


def load(path: str) -> Any:
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("entry", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(path: str, batch_size: int) -> int:
    entry = load(path)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step = entry.iteration_provider(entry.model_provider())
        inputs = tuple(entry.input_provider(batch_size=batch_size))
        for i in range(ITERATIONS):
            with record_function(f"iteration {i}"):
                step(*inputs)
    events = profiler.profiler.kineto_results.events()
    last = next(event for event in events if event.name() == f"iteration {ITERATIONS - 1}")
    start, end = last.start_ns(), last.start_ns() + last.duration_ns()
    changes = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    live = peak = 0
    for time, nbytes in changes:
        if time >= start:
            peak = max(peak, live)
        live += nbytes
        if start <= time <= end:
            peak = max(peak, live)
        if time > end:
            break
    return peak


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("THREADS", torch.get_num_threads())))
    print(main(os.path.abspath(sys.argv[1]), int(sys.argv[2])))
