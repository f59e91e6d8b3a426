"""The functions and classes of torch.cuda, on the CPU: part of `--device cpu`.

Queries are answered for one device that is the CPU; streams run at once, events take the time of the host; there is no
CUDA memory. torch's own modules see that there is no CUDA: otherwise they would choose their code for it.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import time
import types
from collections.abc import Callable
from typing import Any

import torch

from ridgeline_runner.common.device_names import CPU, USE, called_by_torch, cpu
from ridgeline_runner.common.failure import Failure
from ridgeline_runner.common.processor_name import processor_name

Function = Callable[..., Any]


def install() -> None:
    cuda = torch.cuda
    homes = [cuda, *(getattr(cuda, name) for name in ("memory", "random", "streams", "graphs") if hasattr(cuda, name))]
    for module, functions in {
        **dict.fromkeys(homes, {**_functions(), **_unsupported()}),
        cuda.nvtx: _nvtx(),
        cuda.profiler: {"start": _answer(None), "stop": _answer(None), "profile": _context},
    }.items():
        for name, function in functions.items():
            if hasattr(module, name):
                setattr(module, name, _by_caller(function, getattr(module, name), name))
    if hasattr(torch, "accelerator"):  # compiled code waits with it
        torch.accelerator.synchronize = _waiting(torch.accelerator.synchronize)
    _replace_classes(homes)


def class_like(original: type, make: Function) -> Any:
    """A class in the place of `original`: `make(original, ...)` makes its instances, and those of `original` count."""

    class Meta(type(original)):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

    def new(_cls: type, *args: Any, **kwargs: Any) -> Any:
        return make(original, *args, **kwargs)

    names = {"__new__": new, "__doc__": original.__doc__, "__module__": "torch"}
    return Meta(original.__name__, (original,), names)


# ---- Functions


def _functions() -> dict[str, Function]:
    generator = torch.default_generator
    nothing = (
        ("empty_cache", "init", "ipc_collect", "set_sync_debug_mode", "set_per_process_memory_fraction", "_sleep")
        + ("reset_accumulated_memory_stats", "reset_accumulated_host_memory_stats", "reset_max_memory_allocated")
        + ("reset_max_memory_cached", "reset_peak_memory_stats", "reset_peak_host_memory_stats")
        + ("_record_memory_history", "_dump_snapshot", "set_device", "set_stream")
    )
    zero = (
        ("memory_allocated", "memory_reserved", "memory_cached", "memory_usage", "device_memory_used")
        + ("max_memory_allocated", "max_memory_reserved", "max_memory_cached", "get_sync_debug_mode", "current_device")
        + ("utilization", "temperature", "power_draw", "clock_rate")
    )
    return {
        **{name: _answer(None) for name in nothing},
        **{name: _answer(0) for name in zero},
        "synchronize": _synchronize,
        "is_available": _answer(True),
        "is_initialized": _answer(True),
        "device_count": _answer(1),
        "manual_seed": _seed,
        "manual_seed_all": _seed,
        "seed": _answer_of(generator.seed),
        "seed_all": _answer_of(generator.seed),
        "initial_seed": _answer_of(generator.initial_seed),
        "get_rng_state": _answer_of(torch.get_rng_state),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state": lambda new_state, device=0: torch.set_rng_state(new_state),
        "set_rng_state_all": lambda new_states: torch.set_rng_state(next(iter(new_states))),
        "can_device_access_peer": _answer(False),
        "is_bf16_supported": _answer(True),
        "is_tf32_supported": _answer(False),
        "is_current_stream_capturing": _answer(False),
        "get_device_name": _answer_of(processor_name),
        "get_device_properties": _answer_of(_properties),
        "get_device_capability": _answer((0, 0)),
        "get_arch_list": _answer_of(list),
        "get_gencode_flags": _answer(""),
        "get_per_process_memory_fraction": _answer(1.0),
        "get_allocator_backend": _answer("native"),
        "mem_get_info": lambda device=None: (_pages("SC_AVPHYS_PAGES"), _pages("SC_PHYS_PAGES")),
        "memory_stats": _answer_of(collections.Counter),
        "memory_stats_as_nested_dict": _answer_of(dict),
        "host_memory_stats": _answer_of(collections.Counter),
        "host_memory_stats_as_nested_dict": _answer_of(dict),
        "memory_snapshot": _answer_of(list),
        "memory_summary": _answer("There is no CUDA memory: this runs on the CPU."),
        "list_gpu_processes": _answer("There is no CUDA device: this runs on the CPU."),
        "_snapshot": lambda *_, **__: {"segments": [], "device_traces": []},
        "stream": _context,
        "current_stream": _answer_of(Stream),
        "default_stream": _answer_of(Stream),
        "cudart": lambda: types.SimpleNamespace(cudaProfilerStart=_answer(0), cudaProfilerStop=_answer(0)),
    }


def _unsupported() -> dict[str, Function]:
    graphs = ("graph", "make_graphed_callables", "graph_pool_handle")
    pools = ("change_current_allocator", "use_mem_pool", "caching_allocator_alloc", "caching_allocator_delete")
    return {
        **{name: _refuse(f"torch.cuda.{name}: CUDA graphs") for name in graphs},
        **{name: _refuse(f"torch.cuda.{name}: CUDA's allocators") for name in pools},
        "_compile_kernel": _refuse("torch.cuda._compile_kernel: CUDA kernels"),
    }


def _nvtx() -> dict[str, Function]:
    return {
        **{name: _answer(0) for name in ("range_push", "range_pop", "range_start")},
        **{name: _answer(None) for name in ("range_end", "mark")},
        "range": _context,
    }


def _answer(value: Any) -> Function:
    return lambda *_, **__: value


def _answer_of(function: Callable[[], Any]) -> Function:
    return lambda *_, **__: function()


def _refuse(what: str) -> Function:
    def refuse(*_: Any, **__: Any) -> Any:
        raise Failure("no-cuda", f"{what} cannot run on the CPU: `--device cpu` has no stand-in for this.")

    return refuse


# The functions that torch calls for itself, or to seed CUDA's generators along with the CPU's. None: the same as for
# everyone, since torch calls it for the user (torch.random.fork_rng, compiled `.cuda()`).
_TO_TORCH: dict[str, Any] = {
    "is_available": lambda: False,
    "is_initialized": lambda: False,
    "device_count": lambda: 0,
    **dict.fromkeys(("manual_seed", "manual_seed_all", "seed", "seed_all"), lambda *_: None),
    **dict.fromkeys(("get_rng_state", "set_rng_state", "current_device", "synchronize"), None),
}
_CONSTANT = ("is_available", "is_initialized", "device_count", "current_device")


def _by_caller(ours: Function, original: Any, name: str) -> Function:
    """`ours` for everyone but torch itself, with the name and docstring of the original."""
    if isinstance(ours, type):
        return ours
    to_torch = _TO_TORCH.get(name, original) or ours

    def ask(*args: Any, **kwargs: Any) -> Any:
        return (to_torch if called_by_torch() else ours)(*args, **kwargs)

    ask._dynamo_marked_constant = name in _CONSTANT  # type: ignore[attr-defined]  # the compiler asks once
    return functools.update_wrapper(ask, original)


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)


def _synchronize(device: Any = None) -> None:
    USE.cuda = True


def _waiting(original: Function) -> Function:
    @functools.wraps(original)
    def synchronize(device: Any = None, /) -> None:
        if cpu(device) is not CPU:
            original(device)

    return synchronize


def _pages(name: str) -> int:
    return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")


def _properties() -> Any:
    return types.SimpleNamespace(
        name=processor_name(),
        major=0,
        minor=0,
        total_memory=_pages("SC_PHYS_PAGES"),
        multi_processor_count=os.cpu_count() or 1,
        is_integrated=True,
        is_multi_gpu_board=False,
    )


# ---- Classes


class Stream:
    """Work on the CPU is done when its call returns."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device = CPU
        self.priority = priority
        self.cuda_stream = 0
        self.stream_id = 0

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        USE.cuda = True

    def wait_event(self, event: Any) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return 0


class Event:
    """A moment of the host's clock."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.device = CPU
        self._time_ns: int | None = None

    def record(self, stream: Any = None) -> None:
        USE.cuda = True
        self._time_ns = time.perf_counter_ns()

    def wait(self, stream: Any = None) -> None:
        pass

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end_event: Event) -> float:
        if self._time_ns is None or end_event._time_ns is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time_ns - self._time_ns) / 1e6


class _context(contextlib.ContextDecorator):
    """torch.cuda.device, stream, nvtx.range: nothing to enter."""

    def __init__(self, *_: Any, **__: Any) -> None:
        USE.cuda = True

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        pass


def _replace_classes(homes: list[Any]) -> None:
    cuda = torch.cuda
    classes: dict[str, Any] = {
        **{name: Stream for name in ("Stream", "ExternalStream")},
        "Event": Event,
        **{name: _context for name in ("device", "device_of", "StreamContext", "_DeviceGuard")},
        **{name: _unsupported_class(name) for name in ("CUDAGraph", "CUDAPluggableAllocator", "MemPool")},
    }
    for name, replacement in classes.items():
        for home in homes:
            if hasattr(home, name):
                setattr(home, name, replacement)
    for name in dir(cuda):
        if name.endswith("Tensor") and hasattr(torch, name):
            setattr(cuda, name, getattr(torch, name))
    for name, ours in {"Stream": Stream, "Event": Event}.items():
        original = getattr(torch, name, None)
        if original is not None:
            setattr(torch, name, class_like(original, _on_device(ours)))


def _on_device(ours: type) -> Function:
    """torch.Stream and torch.Event, which take the device."""

    def make(original: type, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        return ours(*args, **kwargs) if cpu(device) is CPU else original(device, *args, **kwargs)

    return make


def _unsupported_class(name: str) -> type:
    return type(name, (), {"__init__": _refuse(f"torch.cuda.{name}")})
