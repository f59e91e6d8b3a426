"""The peak of an iteration counted without Ridgeline: by the memory events of torch.profiler.

`python observe_peak.py ENTRY BATCH_SIZE...` builds the model and runs a few iterations at each batch size in turn, all
under torch.profiler, and prints for each the largest number of live bytes during its last one.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

# The first creates the optimizer's state and leaves gradients; the second finds them, as all later ones do.
ITERATIONS = 2


def load(path: str) -> Any:
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("entry", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["entry"] = module
    spec.loader.exec_module(module)
    return module


def iteration_of(entry: Any) -> Any:
    models = entry.model_provider()
    if isinstance(models, dict):
        return entry.iteration_provider(**models)
    return entry.iteration_provider(*(models if isinstance(models, (tuple, list)) else [models]))


def peak_between(changes: list[tuple[int, int]], start: int, end: int) -> int:
    """The most live bytes from `start` to `end`, given every change (time, bytes) in order."""
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


def main(path: str, batch_sizes: list[int]) -> list[int]:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        entry = load(path)
        step = iteration_of(entry)
        for batch_size in batch_sizes:
            inputs = tuple(entry.input_provider(batch_size=batch_size))
            for _ in range(ITERATIONS - 1):
                step(*inputs)
            with record_function(f"last at {batch_size}"):
                step(*inputs)
            del inputs
    events = profiler.profiler.kineto_results.events()
    changes = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    spans = {event.name(): (event.start_ns(), event.start_ns() + event.duration_ns()) for event in events}
    return [peak_between(changes, *spans[f"last at {batch_size}"]) for batch_size in batch_sizes]


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("THREADS", torch.get_num_threads())))
    print(*main(os.path.abspath(sys.argv[1]), [int(argument) for argument in sys.argv[2:]]))
