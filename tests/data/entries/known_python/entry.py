"""A step with lines of pure Python, of NumPy and of sleep, which times those lines itself.

The times go, one line of JSON an iteration, to the file that RIDGELINE_TEST_TIMES names.
"""

import json
import os
import time

import numpy as np
import torch
from torch import nn


def count(n: int) -> int:
    total = 0
    for i in range(n): total += i * i  # noqa: E701  # loop
    return total


def model_provider() -> nn.Module:
    return nn.Linear(64, 64)


def input_provider(batch_size=32):
    return (torch.randn(batch_size, 64),)


def iteration_provider(model):
    values = np.random.default_rng(0).standard_normal(2_000_000)
    log = open(os.environ["RIDGELINE_TEST_TIMES"], "w")

    def iteration(x):
        t0 = time.perf_counter_ns()
        count(200_000)
        t1 = time.perf_counter_ns()
        np.sort(values)  # numpy
        t2 = time.perf_counter_ns()
        time.sleep(0.02)  # sleep
        t3 = time.perf_counter_ns()
        model(x).sum().backward()
        times = {"loop": t1 - t0, "numpy": t2 - t1, "sleep": t3 - t2, "all": time.perf_counter_ns() - t0}
        log.write(json.dumps(times) + "\n")
        log.flush()

    return iteration
