"""Programs in CUDA C++: compiled by NVRTC, launched by the driver on torch's stream, timed by the device's clock."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

_DRIVER = "libcuda.so.1"
_LEAST_ROUNDS, _MOST_ROUNDS = 5, 500
_CALLS_MS, _MOST_CALLS = 1.0, 400  # of calls that are timed together


class ProgramProblem(Exception):
    """Why a program cannot be compiled or run."""


def compiled(source: str, architecture: str) -> bytes:
    """For an architecture such as "sm_90"; needs no device."""
    library = _nvrtc()
    program = ctypes.c_void_p()
    _check_nvrtc(library, library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"", 0, None, None))
    try:
        flags = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
        status = library.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags))
        if status != 0:
            log = _text_of(library, program, "ProgramLog").rstrip(b"\0").decode("utf-8", "replace")
            raise ProgramProblem(log.strip() or f"NVRTC reports error {status}")
        return _text_of(library, program, "CUBIN")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text_of(library: Any, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check_nvrtc(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    _check_nvrtc(library, getattr(library, f"nvrtcGet{what}")(program, text))
    return text.raw


def _nvrtc() -> Any:
    """NVRTC of torch's CUDA."""
    import torch

    major = (torch.version.cuda or "").split(".")[0]
    name = f"libnvrtc.so.{major}"
    beside_torch = sorted(Path(torch.__file__).parents[1].glob(f"nvidia/*/lib/{name}"))
    for library in (name, *map(str, beside_torch)):
        try:
            return ctypes.CDLL(library)
        except OSError:
            continue
    raise ProgramProblem(f"{name} was not found: torch is built without CUDA, or its NVRTC is missing")


def _check_nvrtc(library: Any, status: int) -> None:
    if status != 0:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise ProgramProblem(library.nvrtcGetErrorString(status).decode())


def architecture() -> str:
    """The architecture of torch's current device."""
    import torch

    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def launcher(source: str, binary: bytes, name: str, tensors: list[Any]) -> Callable[[], None]:
    """Launches the function of that name with the tensors, which are on torch's current device."""
    import torch

    driver = ctypes.CDLL(_DRIVER)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _check_driver(driver, driver.cuModuleLoadData(ctypes.byref(module), binary))
    _check_driver(driver, driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    sizes = [*(_constant(source, f"kGrid{axis}") for axis in "XYZ"), _constant(source, "kThreads"), 1, 1]

    addresses = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
    pointers = (ctypes.POINTER(ctypes.c_void_p) * len(addresses))(*map(ctypes.pointer, addresses))

    def launch() -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        _check_driver(driver, driver.cuLaunchKernel(function, *sizes, 0, stream, pointers, None))

    return launch


def _constant(source: str, name: str) -> int:
    found = re.search(rf"^constexpr int {name} = (\d+);$", source, re.MULTILINE)
    if found is None:
        raise ProgramProblem(f"the source does not say {name}")
    return int(found[1])


def _check_driver(driver: Any, status: int) -> None:
    if status != 0:
        text = ctypes.c_char_p()
        driver.cuGetErrorString(status, ctypes.byref(text))
        raise ProgramProblem(f"the driver reports error {status}: {(text.value or b'unknown').decode()}")


def by_turns(runs: list[Callable[[], Any]], seconds: float) -> list[list[float]]:
    """Nanoseconds of a call on the device, by run; those of one round one after the other.

    Calls are replayed from a CUDA graph, so that what Python and PyTorch take to launch them does not count.
    """
    import torch

    graphs = [_graph(run) for run in runs]
    times: list[list[float]] = [[] for _ in runs]
    end = perf_counter() + seconds
    while len(times[0]) < _LEAST_ROUNDS or (perf_counter() < end and len(times[0]) < _MOST_ROUNDS):
        for (graph, count), taken in zip(graphs, times, strict=True):
            graph.replay()  # so that what fits in the L2 cache is there, and not what the others left
            taken.append(_elapsed_ms(graph.replay) / count * 1e6)
    torch.cuda.synchronize()
    return times


def _graph(run: Callable[[], Any]) -> tuple[Any, int]:
    """A graph of as many calls as are timed together, and their number."""
    import torch

    for _ in range(3):
        run()
    torch.cuda.synchronize()
    count = 1
    while True:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                run()
        graph.replay()
        elapsed = max(_elapsed_ms(graph.replay), 1e-3)
        if elapsed >= _CALLS_MS / 2 or count == _MOST_CALLS:
            return graph, count
        count = min(_MOST_CALLS, math.ceil(count * _CALLS_MS / elapsed))


def _elapsed_ms(run: Callable[[], Any]) -> float:
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)
