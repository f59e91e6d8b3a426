"""The steps of examples, and how long they take on the GPU without Ridgeline."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

Step = Callable[[], None]


def step_of(folder: Path, size: int | None = None) -> Step:
    """An iteration of the entry point in `folder` with `size` samples, or its own number. Its model is created here."""
    sys.path.insert(0, str(folder))
    entry: Any = importlib.import_module("entry")
    models = entry.model_provider()
    iteration = entry.iteration_provider(*(models if isinstance(models, tuple) else (models,)))
    inputs = entry.input_provider(**({} if size is None else {"batch_size": size}))
    return lambda: iteration(*inputs)


def times_of(step: Step, iterations: int = 60) -> dict[str, float]:
    """Milliseconds of an iteration, the first ten left out: the median, the tenth and the ninetieth percentile."""
    times = []
    for _ in range(iterations):
        torch.cuda.synchronize()
        start = perf_counter()
        step()
        torch.cuda.synchronize()
        times.append((perf_counter() - start) * 1e3)
    ordered = sorted(times[10:])
    return {
        "timeMs": median(ordered),
        "tenthMs": ordered[len(ordered) // 10],
        "ninetiethMs": ordered[-len(ordered) // 10],
    }
