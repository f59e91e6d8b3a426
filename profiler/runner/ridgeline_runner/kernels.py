"""Compiles generated kernels, checks what they compute against torch, and times both by turns.

`ridgeline kernel` runs this file in the user's interpreter, as a process of its own: a kernel that crashes ends nothing
else. It writes one line of JSON; times are in nanoseconds, each the median over rounds of the mean of some calls.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

_COMPILE_LIMIT_S = 60
_LEAST_ROUNDS, _MOST_ROUNDS = 5, 2000
_CALLS_NS = 200_000  # of calls that are timed together, so that reading the clock does not count
_PROBLEM_CHARACTERS = 2000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    for name in ("--batches", "--rows", "--columns", "--depth", "--threads", "--count"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--bias", "--relu"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    product = Product(options)
    kernels = [_kernel(options, number, product) for number in range(options.count)]
    runs = [product.by_torch()]
    runs += [kernel["call"] for kernel in kernels if "call" in kernel]
    times = iter(_by_turns(runs, options.seconds))
    found: dict[str, Any] = {"torch": torch.__version__, "libraryNs": next(times), "kernels": []}
    for kernel in kernels:
        if kernel.pop("call", None):
            kernel["ns"] = next(times)
        found["kernels"].append(kernel)
    print(json.dumps(found), flush=True)


class Product:
    """Random operands, and what torch makes of them."""

    def __init__(self, options: argparse.Namespace) -> None:
        import torch

        batches = (options.batches,) if options.batches > 1 else ()
        self.a = torch.randn(*batches, options.rows, options.depth)
        self.b = torch.randn(*batches, options.depth, options.columns)
        self.bias = torch.randn(options.columns) if options.bias else None
        self.relu = options.relu

    def by_torch(self) -> Callable[[], Any]:
        """Into memory that is there, as a program does it."""
        import torch

        a, b, bias, relu = self.a, self.b, self.bias, self.relu
        c = torch.empty(*a.shape[:-1], b.shape[-1])

        def run() -> Any:
            if bias is not None and a.dim() == 2:
                torch.addmm(bias, a, b, out=c)
            else:
                torch.matmul(a, b, out=c)
                if bias is not None:
                    c.add_(bias)
            return c.relu_() if relu else c

        return run

    def operands(self) -> list[Any]:
        return [self.a, self.b] if self.bias is None else [self.a, self.b, self.bias]


def _kernel(options: argparse.Namespace, number: int, product: Product) -> dict[str, Any]:
    """`call`, and the largest error of its result; or why there is none."""
    import torch

    source, library = options.folder / f"{number}.cpp", options.folder / f"{number}.so"
    flags = ["-std=c++17", "-O3", "-march=native", "-fPIC", "-shared"]
    if "#define RIDGELINE_PARALLEL 1" in source.read_text("utf-8"):
        flags.append("-fopenmp")
    try:
        command = [options.compiler, *flags, str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_COMPILE_LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"problem": f"{options.compiler} took more than {_COMPILE_LIMIT_S} s"}
    if done.returncode != 0:
        return {"problem": done.stderr[:_PROBLEM_CHARACTERS] or f"{options.compiler} ended with {done.returncode}"}
    function = ctypes.CDLL(str(library)).ridgeline_matmul
    result = torch.full((*product.a.shape[:-1], product.b.shape[-1]), float("nan"))
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*product.operands(), result)]
    if function(*pointers) != 0:
        return {"problem": "there was no memory for its panels"}
    error, allowed = _error(product, result)
    if not error <= allowed:
        return {"problem": f"its result differs from torch's by {error:.3g} times the allowed difference"}
    # The result lives as long as the call does.
    return {"call": lambda kept=result: function(*pointers), "error": error}


def _error(product: Product, result: Any) -> tuple[float, float]:
    """The largest difference to torch's result, as a share of what rounding explains, and the largest share allowed.

    Rounding of a sum of n products is about sqrt(n) eps times the sum of their magnitudes (Higham, "Accuracy and
    Stability of Numerical Algorithms", section 3.1, with rounding errors that are independent).
    """
    import torch

    a, b = product.a, product.b
    magnitude = a.abs() @ b.abs() + (0 if product.bias is None else product.bias.abs())
    bound = magnitude * (torch.finfo(torch.float32).eps * max(1.0, a.shape[-1] ** 0.5))
    share = ((result - product.by_torch()()).abs() / bound).max().item()
    return share, 4.0


def _by_turns(runs: list[Callable[[], Any]], seconds: float) -> list[float]:
    """So that what disturbs the machine meets all alike."""
    calls = []
    for run in runs:
        run()
        begin = perf_counter_ns()
        run()
        calls.append(max(1, _CALLS_NS // max(1, perf_counter_ns() - begin)))
    times: list[list[float]] = [[] for _ in runs]
    end = perf_counter() + seconds * len(runs)
    while len(times[0]) < _LEAST_ROUNDS or (perf_counter() < end and len(times[0]) < _MOST_ROUNDS):
        for run, count, taken in zip(runs, calls, times, strict=True):
            begin = perf_counter_ns()
            for _ in range(count):
                run()
            taken.append((perf_counter_ns() - begin) / count)
    return [statistics.median(taken) for taken in times]


if __name__ == "__main__":
    main()
