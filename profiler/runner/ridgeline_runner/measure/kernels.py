"""Compiles generated kernels, checks what they compute against torch in float64, and times both by turns.

`ridgeline kernel` runs this file in the user's interpreter, as a process of its own: a kernel that crashes ends nothing
else. It writes one line of JSON; times are in nanoseconds, each the median over rounds of the mean of some calls.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from ridgeline_runner.cuda import programs as cuda_programs
from ridgeline_runner.cuda.programs import ProgramProblem
from ridgeline_runner.machine.machine_limits import usable_processors

_COMPILE_LIMIT_S = 60
_LEAST_ROUNDS, _MOST_ROUNDS = 5, 2000
_CALLS_NS = 200_000  # of calls that are timed together, so that reading the clock does not count
_PROBLEM_CHARACTERS = 2000
_CHUNK = 1 << 20  # elements of which rounding errors are estimated at once
_ALLOWED = 4.0  # times what rounding explains: functions are not rounded correctly

Bound = Callable[[list[Any]], Callable[[], None]]  # a program, of which operands and result make something to run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", help="of C++; without it the programs are for a GPU, and NVRTC compiles them")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--operation", type=json.loads, required=True)
    for name in ("--threads", "--count"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    import torch

    found: dict[str, Any] = {"torch": torch.__version__}
    if options.compiler is None:
        if not torch.cuda.is_available():
            print(json.dumps({"problem": "torch sees no CUDA device"}), flush=True)
            return
        torch.set_default_device("cuda")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        found["gpu"], options.architecture = torch.cuda.get_device_name(), cuda_programs.architecture()
    torch.set_num_threads(options.threads)
    print(json.dumps(found | _measured(options)), flush=True)


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    import torch

    torch.manual_seed(0)
    operation = _OPERATIONS[options.operation["kind"]](options.operation)
    operation.result = torch.empty(operation.shape)
    errors = partial(_errors, operation.exact(), operation.rounding())
    with ThreadPoolExecutor(max(1, int(usable_processors()))) as pool:
        programs = list(pool.map(partial(_compiled, options), range(options.count)))
    kernels = [_kernel(options, program, operation, errors) for program in programs]
    runs = [operation.by_torch()]
    runs += [kernel["call"] for kernel in kernels if "call" in kernel]
    timed = cuda_programs.by_turns if options.compiler is None else by_turns
    times = map(statistics.median, timed(runs, options.seconds * len(runs)))
    found: dict[str, Any] = {"libraryNs": next(times), "kernels": []}
    for kernel in kernels:
        if kernel.pop("call", None):
            kernel["ns"] = next(times)
        found["kernels"].append(kernel)
    return found


class Operation:
    """Random operands, what torch makes of them, and how far rounding may move a result."""

    operands: list[Any]
    shape: tuple[int, ...]  # of the result
    result: Any  # where each program writes

    def by_torch(self) -> Callable[[], Any]:
        raise NotImplementedError

    def exact(self) -> Any:
        """The result in float64."""
        import torch

        wide = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, torch.Tensor):
                setattr(wide, name, value.double())
        wide.operands = [operand.double() for operand in self.operands]
        return wide.by_torch()()

    def rounding(self) -> Any:
        """What rounding explains of an error of a result, for each element."""
        raise NotImplementedError


class Product(Operation):
    def __init__(self, sizes: dict[str, Any]) -> None:
        import torch

        batches = (sizes["batches"],) if sizes["batches"] > 1 else ()
        self.a = torch.randn(*batches, sizes["rows"], sizes["depth"])
        # As torch has it: a linear layer's weight is stored the other way round.
        self.b = torch.randn(*batches, sizes["depth"], sizes["columns"])
        if sizes["transposed"]:
            self.b = self.b.t().contiguous().t()
        self.bias = torch.randn(sizes["columns"]) if sizes["bias"] else None
        self.relu = sizes["relu"]
        self.operands = [self.a, self.b] if self.bias is None else [self.a, self.b, self.bias]
        self.shape = (*batches, sizes["rows"], sizes["columns"])

    def by_torch(self) -> Callable[[], Any]:
        """Into memory that is there, as a program does it."""
        import torch

        a, b, bias, relu = self.a, self.b, self.bias, self.relu
        c = torch.empty(self.shape, dtype=a.dtype)

        def run() -> Any:
            if bias is not None and a.dim() == 2:
                torch.addmm(bias, a, b, out=c)
            else:
                torch.matmul(a, b, out=c)
                if bias is not None:
                    c.add_(bias)
            return c.relu_() if relu else c

        return run

    def rounding(self) -> Any:
        magnitude = self.a.abs() @ self.b.abs() + (0 if self.bias is None else self.bias.abs())
        return _rounding_of_sums(magnitude, self.a.shape[-1])


class Convolution(Operation):
    def __init__(self, sizes: dict[str, Any]) -> None:
        import torch

        self.x = torch.randn(sizes["images"], sizes["channels"], sizes["height"], sizes["width"])
        self.weight = torch.randn(sizes["outputs"], sizes["channels"], sizes["kernel"], sizes["kernel"])
        self.bias = torch.randn(sizes["outputs"]) if sizes["bias"] else None
        self.operands = [self.x, self.weight] if self.bias is None else [self.x, self.weight, self.bias]
        self.where = {"stride": sizes["stride"], "padding": sizes["padding"]}
        self.relu = sizes["relu"]
        self.shape = tuple(self.by_torch()().shape)

    def by_torch(self) -> Callable[[], Any]:
        import torch

        def run() -> Any:
            result = torch.conv2d(self.x, self.weight, self.bias, **self.where)
            return result.relu_() if self.relu else result

        return run

    def rounding(self) -> Any:
        import torch

        bias = None if self.bias is None else self.bias.abs()
        magnitude = torch.conv2d(self.x.abs(), self.weight.abs(), bias, **self.where)
        return _rounding_of_sums(magnitude, self.weight[0].numel())


class Elementwise(Operation):
    def __init__(self, sizes: dict[str, Any]) -> None:
        import torch

        self.names = [operand["name"] for operand in sizes["operands"]]
        self.operands = [torch.randn(operand["shape"]) for operand in sizes["operands"]]
        self.shape = torch.broadcast_shapes(*(operand.shape for operand in self.operands))
        self.expression, self.steps = sizes["expression"], sizes["steps"]
        relu, sigmoid, tanh, exp = torch.relu, torch.sigmoid, torch.tanh, torch.exp
        self.functions = {"relu": relu, "sigmoid": sigmoid, "tanh": tanh, "exp": exp}
        self.functions["gelu"] = torch.nn.functional.gelu

    def by_torch(self) -> Callable[[], Any]:
        """Operation by operation."""
        run = eval(f"lambda {', '.join(self.names)}: {self.expression}", self.functions)  # which the daemon has parsed
        return lambda: run(*self.operands)

    def rounding(self) -> Any:
        import torch

        rows = max(1, _CHUNK // self.shape[1])
        chunks = zip(*(operand.expand(self.shape).split(rows) for operand in self.operands), strict=True)
        return torch.cat([self._rounding(chunk) for chunk in chunks])

    def _rounding(self, operands: tuple[Any, ...]) -> Any:
        """To first order: each step's result, and for gelu its operand, is off by a rounding error."""
        import torch

        values = {name: operand.double().requires_grad_() for name, operand in zip(self.names, operands, strict=True)}
        results = []
        for number, step in enumerate(self.steps):
            values[f"t{number}"] = eval(step, self.functions, values)
            results.append(values[f"t{number}"])
        gradients = torch.autograd.grad(results[-1].sum(), results)
        bound = torch.zeros_like(gradients[0])
        for step, result, gradient in zip(self.steps, results, gradients, strict=True):
            magnitude = result.abs()
            if step.startswith("gelu("):
                magnitude = magnitude + values[step[len("gelu(") : -1]].abs()
            bound += gradient.abs() * magnitude.detach()
        # Below the least normal number, precision is lost.
        return (bound * torch.finfo(torch.float32).eps + torch.finfo(torch.float32).tiny).float()


class Reduction(Operation):
    def __init__(self, sizes: dict[str, Any]) -> None:
        import torch

        self.reduction, self.dim = sizes["reduction"], sizes["dim"]
        self.a = torch.randn(sizes["rows"], sizes["columns"])
        self.operands = [self.a]
        self.shape = (sizes["columns"] if self.dim == 0 else sizes["rows"],)

    def by_torch(self) -> Callable[[], Any]:
        """Into memory that is there, as a program does it."""
        import torch

        function = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[self.reduction]
        result = torch.empty(self.shape, dtype=self.a.dtype)
        return lambda: function(self.a, dim=self.dim, out=result)

    def rounding(self) -> Any:
        """None for a maximum."""
        count = self.a.shape[self.dim]
        magnitude = self.a.abs().sum(self.dim) * (self.reduction != "max")
        return _rounding_of_sums(magnitude / (count if self.reduction == "mean" else 1), count)


_OPERATIONS = {"matmul": Product, "conv": Convolution, "elementwise": Elementwise, "reduce": Reduction}


def _rounding_of_sums(magnitude: Any, count: int) -> Any:
    """The rounding error of a sum of `count` numbers: about sqrt(count) eps times the sum of their magnitudes.

    Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1, with rounding errors that are independent.
    """
    import torch

    return magnitude * (torch.finfo(torch.float32).eps * max(1.0, count**0.5))


def _kernel(
    options: argparse.Namespace, bound: Bound, operation: Operation, errors_of: Callable[[Any], tuple[float, float]]
) -> dict[str, Any]:
    """`call`, and the error of its result; or why there is none."""
    result = operation.result.fill_(float("nan"))
    try:
        call = bound([*operation.operands, result])
        call()
    except ProgramProblem as problem:
        return {"problem": str(problem)[:_PROBLEM_CHARACTERS]}
    largest, relative = errors_of(result)
    if not largest <= _ALLOWED:
        return {"problem": f"its result is off by {largest:.3g} times what rounding explains"}
    return {"call": call, "relativeError": relative}


def _compiled(options: argparse.Namespace, number: int) -> Bound:
    """What binds the program to tensors; ProgramProblem where it cannot be compiled is raised then."""
    try:
        return (_on_cpu if options.compiler else _on_gpu)(options, number)
    except ProgramProblem as problem:
        return partial(_raise, problem)


def _raise(problem: ProgramProblem, _: list[Any]) -> Callable[[], None]:
    raise problem


def _on_cpu(options: argparse.Namespace, number: int) -> Bound:
    source, library = options.folder / f"{number}.cpp", options.folder / f"{number}.so"
    flags = ["-std=c++17", "-O3", "-march=native", "-fPIC", "-shared"]
    if "#define RIDGELINE_PARALLEL 1" in source.read_text("utf-8"):
        flags.append("-fopenmp")
    try:
        command = [options.compiler, *flags, str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_COMPILE_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise ProgramProblem(f"{options.compiler} took more than {_COMPILE_LIMIT_S} s") from None
    if done.returncode != 0:
        raise ProgramProblem(done.stderr or f"{options.compiler} ended with {done.returncode}")
    function = getattr(ctypes.CDLL(str(library)), _name(options))

    def bound(tensors: list[Any]) -> Callable[[], None]:
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]

        def run() -> None:
            if function(*pointers) != 0:
                raise ProgramProblem("there was no memory for its panels")

        return run

    return bound


def _on_gpu(options: argparse.Namespace, number: int) -> Bound:
    source = (options.folder / f"{number}.cu").read_text("utf-8")
    return partial(cuda_programs.launcher, source, cuda_programs.compiled(source, options.architecture), _name(options))


def _name(options: argparse.Namespace) -> str:
    return f"ridgeline_{options.operation['kind']}"


def _errors(exact: Any, rounding: Any, result: Any) -> tuple[float, float]:
    """The largest error as a share of what rounding explains, and the norm of all as a share of the result's."""
    import torch

    is_equal = (result == exact) | (result.isnan() & exact.isnan())
    error = torch.where(is_equal, 0, (result - exact).abs())
    norm = torch.linalg.vector_norm(exact).clamp_min(torch.finfo(torch.float32).tiny)
    relative = torch.linalg.vector_norm(error) / norm
    return torch.where(is_equal, 0, error / rounding).max().item(), relative.item()


def by_turns(runs: list[Callable[[], Any]], seconds: float) -> list[list[float]]:
    """Nanoseconds of a call by run; those of one round one after the other, so that what disturbs the machine meets all
    alike."""
    calls = []
    for run in runs:
        run()
        begin = perf_counter_ns()
        run()
        calls.append(max(1, _CALLS_NS // max(1, perf_counter_ns() - begin)))
    times: list[list[float]] = [[] for _ in runs]
    end = perf_counter() + seconds
    while len(times[0]) < _LEAST_ROUNDS or (perf_counter() < end and len(times[0]) < _MOST_ROUNDS):
        for run, count, taken in zip(runs, calls, times, strict=True):
            run()  # so that what fits in the caches is there, and not what the others left
            begin = perf_counter_ns()
            for _ in range(count):
                run()
            taken.append((perf_counter_ns() - begin) / count)
    return times


if __name__ == "__main__":
    main()
