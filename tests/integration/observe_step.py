"""A training step under torch's own instruments: what the figures of a report are compared with.

`python observe_step.py ENTRY BATCH_SIZE INSTRUMENT...` runs a few iterations of the entry point under each instrument,
each in a process of its own, and prints what they saw as JSON, by instrument:

- `calls`: by torch.profiler, how often each operation was called in each module;
- `tensors`: by MemTracker, the bytes of live tensors at the peak of an iteration, by their kind;
- `resident`: by getrusage, the most bytes of memory that the process had on top of what it had before the model.

An entry file that wraps its iteration into `under_profiler` has torch.profiler observe the iterations that Ridgeline
records.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import multiprocessing
import os
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from time import perf_counter_ns
from typing import Any

from observe_peak import load
from torch import nn
from torch.autograd.profiler_util import FunctionEvent
from torch.nn.modules import module as all_modules
from torch.profiler import ProfilerActivity, profile, record_function

# The first creates the optimizer's state and leaves gradients; the second finds them, as all later ones do.
WARM_UP = 2
# Ridgeline warms up for at most 20 iterations, and records at most 30.
OBSERVED = 50

USER_RANGE = 7  # at::RecordScope::USER_SCOPE
ITERATION = "iteration"
MODULE = "module "
ENGINE = "autograd::engine::evaluate_function: "
# The C library takes larger blocks from the system one by one, and gives each back when it is released.
OWN_PAGES_BYTES = 64 * 1024
M_MMAP_THRESHOLD = -3  # malloc.h


def prepare(path: str, batch_size: int) -> tuple[nn.Module, Callable[[], None]]:
    """The model of the entry point, and its iteration with inputs."""
    entry = load(path)
    model = entry.model_provider()
    iteration = entry.iteration_provider(model)
    inputs = tuple(entry.input_provider(batch_size=batch_size))
    return model, lambda: iteration(*inputs)


def recorded(step: Callable[[], None]) -> FunctionEvent:
    """An iteration as torch.profiler saw it: a tree of events."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler, record_function(ITERATION):
        step()
    (iteration,) = (event for event in profiler.events() if event.name == ITERATION)
    return iteration


def is_node(event: FunctionEvent) -> bool:
    """Whether the event is the engine's, for one autograd node, with all that it does for it."""
    return event.name.startswith(ENGINE)


def operation(event: FunctionEvent) -> str:
    return event.name.removeprefix("aten::")


# ---- calls -----------------------------------------------------------------------------------------------------------


def calls(path: str, batch_size: int) -> dict[str, dict[str, int]]:
    """Module → operation → calls in one iteration, of the outermost operations; "" is outside of modules.

    What the engine runs for a node is no call. What a module runs inside of a node is: activation checkpointing runs
    the forward again there.
    """
    model, step = prepare(path, batch_size)
    for _ in range(WARM_UP):
        step()
    with ranges_of_modules(model):
        iteration = recorded(step)
    counts: dict[str, Counter[str]] = {}

    def visit(event: FunctionEvent, module: str, in_node: bool) -> None:
        for child in event.cpu_children:
            if child.name.startswith(MODULE):
                visit(child, child.name.removeprefix(MODULE), False)
            elif child.scope == USER_RANGE:
                visit(child, module, in_node)
            elif in_node or is_node(child):
                visit(child, module, True)
            else:
                counts.setdefault(module, Counter())[operation(child)] += 1

    visit(iteration, "", False)
    return {module: dict(of) for module, of in counts.items()}


@contextlib.contextmanager
def ranges_of_modules(model: nn.Module) -> Iterator[None]:
    """Puts a range around each call of a module: the model's by its class and path, another by its class."""
    kind = type(model).__name__
    names = {module: f"{kind}.{path}" if path else kind for path, module in model.named_modules()}
    ranges: list[Any] = []

    def enter(module: nn.Module, _: Any) -> None:
        ranges.append(record_function(MODULE + names.get(module, type(module).__name__)))
        ranges[-1].__enter__()

    def leave(*_: Any) -> None:
        ranges.pop().__exit__(None, None, None)

    hooks = [
        all_modules.register_module_forward_pre_hook(enter),
        all_modules.register_module_forward_hook(leave, always_call=True),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


# ---- times -----------------------------------------------------------------------------------------------------------


def under_profiler(iteration: Callable[..., None]) -> Callable[..., None]:
    """The iteration, its first runs observed; what each took is a line of the file $RIDGELINE_TEST_TIMES.

    The next run writes the line: after its length is taken, a run does nothing more that would change the length.
    """
    runs = 0
    line = ""

    def observed(*inputs: Any) -> None:
        nonlocal runs, line
        start = perf_counter_ns()
        runs += 1
        if line:
            with open(os.environ["RIDGELINE_TEST_TIMES"], "a") as lines:
                print(line, file=lines)
            line = ""
        if runs > OBSERVED:
            iteration(*inputs)
            return
        seen = times(recorded(lambda: iteration(*inputs)))
        line = json.dumps({**seen, "wholeMs": (perf_counter_ns() - start) / 1e6})

    return observed


def times(iteration: FunctionEvent) -> dict[str, dict[str, float]]:
    """Milliseconds of the outermost operations by name, and of the autograd nodes by name.

    The time of AccumulateGrad, which adds to a parameter's gradient, is the node's that ran before it.
    """
    operations: Counter[str] = Counter()
    nodes: Counter[str] = Counter()
    node = ""
    for event in outermost(iteration):
        ms = event.cpu_time_total / 1e3
        if is_node(event):
            name = event.name.removeprefix(ENGINE)
            node = node if name.endswith("AccumulateGrad") else name
            nodes[node] += ms
        else:
            operations[operation(event)] += ms
    return {"operations": operations, "nodes": nodes}


def outermost(event: FunctionEvent) -> Iterator[FunctionEvent]:
    for child in event.cpu_children:
        if child.scope == USER_RANGE:
            yield from outermost(child)
        else:
            yield child


# ---- memory ----------------------------------------------------------------------------------------------------------


def tensors(path: str, batch_size: int) -> dict[str, dict[str, int]]:
    """Kind of tensor → bytes, at the peak of an iteration and before it."""
    from torch.distributed._tools.mem_tracker import MemTracker

    tracker = MemTracker()
    model: nn.Module | None = None

    def forget_modules(module: nn.Module, _: Any) -> None:
        # The tracker keeps statistics of modules, which are not asked for, and refuses to see a model twice.
        if module is model:
            tracker.reset_mod_stats()

    hook = all_modules.register_module_forward_pre_hook(forget_modules)  # before the tracker's own
    with tracker:
        model, step = prepare(path, batch_size)
        for _ in range(WARM_UP):
            step()
    (before,) = tracker.get_tracker_snapshot("current").values()
    with tracker:  # its peak starts anew, with what is alive
        step()
    hook.remove()
    (peak,) = tracker.get_tracker_snapshot("peak").values()
    return {"before": by_kind(before), "peak": by_kind(peak)}


def by_kind(snapshot: dict[Any, int]) -> dict[str, int]:
    return {str(getattr(kind, "value", kind)): nbytes for kind, nbytes in snapshot.items()}


def resident(path: str, batch_size: int) -> int:
    c_library = ctypes.CDLL(None)
    c_library.mallopt(M_MMAP_THRESHOLD, OWN_PAGES_BYTES)
    c_library.malloc_trim(0)  # what the imports released
    before = status_bytes("RssAnon")
    _, step = prepare(path, batch_size)
    for _ in range(WARM_UP + 1):
        step()
    # Pages of files, such as libraries, come and stay: at the peak there were no more of them than now.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return most - status_bytes("RssFile") - status_bytes("RssShmem") - before


def status_bytes(field: str) -> int:
    """What the system says of this process."""
    with open("/proc/self/status") as lines:
        (value,) = (line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return int(value) * 1024


INSTRUMENTS: dict[str, Callable[[str, int], Any]] = {"calls": calls, "tensors": tensors, "resident": resident}


def in_its_own_process(instrument: str, path: str, batch_size: int) -> Any:
    """Forked, so that torch is imported once, and before it ran anything, so that its threads start in the child."""

    def run(answer: Connection) -> None:
        answer.send(INSTRUMENTS[instrument](path, batch_size))

    context = multiprocessing.get_context("fork")
    answer, sending = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(sending,))
    process.start()
    sending.close()
    seen = answer.recv()
    process.join()
    return seen


if __name__ == "__main__":
    importlib.import_module("torch._dynamo")  # the first optimizer of each process would do it

    path, batch_size = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    print(json.dumps({name: in_its_own_process(name, path, batch_size) for name in sys.argv[3:]}))
