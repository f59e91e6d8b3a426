"""The agent as the runner uses it: calibration, models, recordings."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Sequence
from enum import IntEnum
from time import perf_counter_ns
from typing import Any

from ridgeline_runner.common import dynamo
from ridgeline_runner.common.overlay import source_of
from ridgeline_runner.common.packages import places_of
from ridgeline_runner.common.sources import holds
from ridgeline_runner.cuda.allocator_history import AllocatorHistory
from ridgeline_runner.cuda.capture_watch import CaptureWatch
from ridgeline_runner.machine.devices import Device, LentSlot, cupti_candidates, named_cupti
from ridgeline_runner.step.compiled_code import CompiledCode
from ridgeline_runner.step.entry import tensors_in

_MOST_REQUESTS = 1 << 19  # of memory: kMaxMemoryRequests of protocol/experiment.h


class Stage(IntEnum):
    """recording::Stage of protocol/recording_format.h."""

    LOAD = 0
    MODEL = 1
    INPUT = 2
    PREPARE = 3
    ITERATION = 4


class Recorder:
    """One per process. `agent` is the module `_ridgeline_agent`."""

    def __init__(self, agent: Any, project_root: str, code: Sequence[str] = ()) -> None:
        """`code`: packages whose lines count as the user's do, by import name."""
        import torch

        self._agent = agent
        self._root = project_root
        self._code = code
        self._device = Device()
        self._lent = LentSlot(agent)
        self._captures = CaptureWatch(agent)
        self._records_device = False
        self._by_events = ""  # why, when the device's events replace CUPTI
        self._history: AllocatorHistory | None = None  # of the first iteration
        self._requests: AllocatorHistory | None = None  # of a recording
        self._problems: dict[str, None] = {}  # in the order in which they came up
        self._names: dict[int, str] = {}
        self._module_watches: list[tuple[Callable[..., None], Callable[..., None] | None]] = []
        self._class_lines: dict[str, dict[str, int]] = {}
        self._compiled: CompiledCode | None = None
        agent.set_module_call(torch.nn.Module._call_impl.__code__)
        self._calibrate()

    def _calibrate(self) -> None:
        inside, shallow, shallow_frames = self._agent.measure_op_cost()
        _, deep, deep_frames = _deeper(self._agent.measure_op_cost, 40)
        per_frame = max(0.0, (deep - shallow) / max(1, deep_frames - shallow_frames))
        outside = max(0.0, shallow - per_frame * shallow_frames)
        self._agent.set_cost(inside, outside, per_frame, self._agent.measure_memory_cost())

    def watch_compiled_code(self) -> None:
        """Before torch.compile compiles what is recorded: recordings say which lines generated code came from."""
        if self._compiled is None:
            self._compiled = CompiledCode(self._describe)
            self._compiled.watch()

    def stage(self, stage: Stage) -> None:
        self._agent.set_stage(int(stage))

    def track_memory(self, *, of_devices: bool = False) -> bool:
        if of_devices:
            self._agent.attach_device_memory()
            self._lent.install()
        return self._agent.attach_memory()

    def use_device(self, device: Device) -> None:
        """From now on recordings are of this device: its memory, and what it does."""
        self._device = device
        self.observe_memory_of(device)
        if not device.is_host:  # not earlier: it may wake CUDA up before the code says which devices are visible
            self._history = AllocatorHistory()
            self._history.begin()
        if not device.is_host or named_cupti():
            problem = self._agent.attach_device(cupti_candidates())
            self._records_device = not problem
            if problem and not device.is_host and not self._agent.attach_regions(device.index):
                self._by_events = problem
            else:
                self._note(problem)
            if not problem:
                self._captures.watch()

    def observe_memory_of(self, device: Device) -> None:
        """From now on memory is this device's, also what was allocated there before."""
        self._agent.set_memory_device(device.index)

    def detach(self) -> None:
        """After the last recording: nothing of the agent is active any more."""
        self._agent.detach_device_memory()
        self._agent.detach_memory()
        self._captures.end()
        self._agent.detach_device()
        self._agent.detach_regions()

    def warnings(self) -> list[str]:
        """Why the figures of the device are missing, where they are."""
        found = []
        if self._by_events:
            found.append(
                f"There are no times of kernels: {self._by_events}. Times of the device are those between CUDA events "
                "around each operation, shown as kernels, and include time in which the device waits for the host."
            )
        found += [f"There are no times of the device: {problem}." for problem in self._problems]
        if self._lent.was_lent:
            found.append("The code runs torch.profiler: what the device allocated meanwhile is not known.")
        return found

    def _note(self, problem: str) -> None:
        if problem:
            self._problems[problem] = None

    def forget_freed(self) -> None:
        """After an iteration of the warm-up. What came until the end of the very first one is kept for a device: how
        its allocator begins decides where all that follows finds room."""
        if self._history:
            self._agent.set_requests(self._history.take(self._device.index))
            self._agent.keep_first_events()
            self._history = None
        self._agent.compact_memory()

    def forget_attempt(self) -> None:
        """After an iteration that failed, and whose memory is free again: the next one is the first."""
        if self._history:
            self._history.take(self._device.index)
            self._history.begin()
        self._agent.compact_memory()

    def peak_bytes(self) -> int:
        """The most that was alive on the recorded device since the last of these calls: forget_freed, forget_attempt,
        or the begin of the observation."""
        return self._agent.peak_bytes()

    def moment(self) -> int:
        """Now, for alive_bytes()."""
        return self._agent.ticks()

    def alive_bytes(self, moments: list[int]) -> list[tuple[int, int]]:
        """For each of the moments, ascending, since the last forget_freed(): the bytes alive on the recorded device
        then, and the most from then until the next one."""
        return self._agent.alive_bytes(moments)

    def requests_since(self, moment: int, operations: Sequence[int] = (), mark: int = 0) -> list[int]:
        """What was asked of the recorded device's allocator since a moment that is not before the last
        forget_freed(), in order: bytes of a request, or ~i where request i, counted from 0, was freed. `operations`:
        the moments before those that computed, ascending: what is freed before the next one is left out. A 0 stands
        where the moment `mark` was. Empty where there are more than a message holds."""
        requests = self._agent.requests_since(moment, operations, mark)
        return requests if len(requests) <= _MOST_REQUESTS else []

    def set_models(self, positional: tuple[Any, ...], keywords: dict[str, Any]) -> list[tuple[str, Any]]:
        """Names every module instance; passes parameters and buffers to the agent. Returns the named parameters."""
        models = dict(keywords) if keywords else {str(i): model for i, model in enumerate(positional)}
        parameters = []
        for key, model in models.items():
            prefix = type(model).__name__ if len(models) == 1 else f"{type(model).__name__}[{key}]"
            for path, module in model.named_modules():
                self._names.setdefault(id(module), f"{prefix}.{path}" if path else prefix)
            for path, parameter in model.named_parameters():
                parameters.append((f"{prefix}.{path}", parameter, True))
            for path, buffer in model.named_buffers():
                parameters.append((f"{prefix}.{path}", buffer, False))
        self._agent.set_parameters(parameters)
        return [(name, tensor) for name, tensor, is_parameter in parameters if is_parameter]

    def watch_module_calls(
        self, before: Callable[..., None], after: Callable[..., None] | None = None
    ) -> Callable[[], None]:
        """From now on `before(module, arguments, keywords)` and `after(module, arguments, keywords, output)` are called
        around each call of a module of a class that there is now. torch.compile does not notice. Returns what ends
        that."""
        import torch

        watch = (before, after)
        self._module_watches.append(watch)
        self._agent.watch_module_calls(torch.nn.Module, self._before_module, self._after_module)

        def end() -> None:
            if watch in self._module_watches:
                self._module_watches.remove(watch)
            if not self._module_watches:
                self._agent.unwatch_module_calls()

        return end

    @dynamo.unseen
    def _before_module(self, *call: Any) -> None:
        if dynamo.is_compiling():
            return
        for before, _ in list(self._module_watches):
            before(*call)

    @dynamo.unseen
    def _after_module(self, *call: Any) -> None:
        if dynamo.is_compiling():
            return
        for _, after in list(self._module_watches):
            if after is not None:
                after(*call)

    def set_inputs(self, tensors: list[Any]) -> None:
        """The inputs of the iterations to come."""
        self._agent.set_inputs(tensors)

    def record(self, step: Any, inputs: tuple[Any, ...], count: int) -> list[int]:
        """Records `count` iterations; their times in nanoseconds, instrumented."""
        self.set_inputs(tensors_in(inputs))
        self.begin()
        times = []
        try:
            for _ in range(count):
                start = self.begin_iteration()
                step(*inputs)
                times.append(self.end_iteration() - start)
        finally:
            self.end()
        return times

    def record_error(self, step: Any, inputs: tuple[Any, ...]) -> Exception | None:
        """Records an iteration that is expected to raise; what it raised. None: it came to its end."""
        self.set_inputs(tensors_in(inputs))
        self.begin()
        raised = None
        try:
            self.begin_iteration()
            try:
                step(*inputs)
            except Exception as error:  # noqa: BLE001 - the user's
                raised = error
            self.end_iteration()
        finally:
            self.end()
        return raised

    def record_past(self, moment: int) -> None:
        """A recording of what was allocated since a moment(), without operations: finish() has it, a few milliseconds
        later."""
        self._agent.record_past(moment)

    def begin(self) -> None:
        """Begins a recording; a recording that is going on is forgotten."""
        if not self._device.is_host:
            self._requests = AllocatorHistory()
            self._requests.begin()
        self._note(self._agent.begin())

    def begin_iteration(self) -> int:
        """Begins an iteration when the device is idle; the time in nanoseconds."""
        self._device.synchronise()
        self._agent.iteration_begin()
        return perf_counter_ns()

    def end_iteration(self) -> int:
        """Ends the iteration when the device is idle; the time in nanoseconds."""
        self._device.synchronise()
        now = perf_counter_ns()
        self._agent.iteration_end()
        return now

    def end(self) -> None:
        """Ends the recording: finish() has it."""
        self._agent.end()
        self._agent.set_requests(self._requests.take(self._device.index) if self._requests else [])
        self._requests = None
        if self._records_device:
            launches, activities = self._agent.device_counts()
            if launches and not activities:
                self._note(f"CUPTI reported none of {launches} launches; another tool may have taken it")

    def count(self, step: Any, inputs: tuple[Any, ...], excluded: list[str]) -> None:
        """Runs one more iteration under the interpreter's trace hook: how often each user line and module runs."""
        self.begin_counting(excluded)
        try:
            step(*inputs)
        finally:
            self.end_counting()

    def begin_counting(self, excluded: list[str]) -> None:
        self._agent.start_counting([self._root], excluded, places_of(self._code))

    def end_counting(self) -> None:
        self._agent.stop_counting()

    def finish(self) -> bytes:
        """The recording, with the names of instances filled in."""
        instances = [self._describe(address, kind) for address, kind in self._agent.instances()]
        if self._compiled is not None:
            self._agent.set_compiled_code(self._compiled.text())
        return self._agent.finish(instances)

    def _describe(self, address: int, kind: type) -> tuple[str, str, str, int]:
        code = getattr(getattr(kind, "forward", None), "__code__", None)
        file = code.co_filename if code else ""
        line = self._class_line(file, kind.__qualname__) or (code.co_firstlineno if code else 0)
        return (kind.__qualname__, self._names.get(address, ""), file, line)

    def _class_line(self, file: str, qualified_name: str) -> int | None:
        if file not in self._class_lines:
            has_figures = any(holds(folder, file) for folder in [self._root, *places_of(self._code)])
            self._class_lines[file] = class_lines(file) if has_figures else {}
        return self._class_lines[file].get(qualified_name)


def name_compiled_kernels() -> None:
    """Makes the kernels that torch.compile generates for the CPU announce themselves as operations, each by its name.

    Costs a few nanoseconds per kernel when nothing is recorded. Without it they are Python's time between operations.
    """
    with contextlib.suppress(Exception):  # a torch that cannot compile has no such kernels
        import torch._inductor.config as inductor

        inductor.cpp.enable_kernel_profile = True


def _deeper(function: Any, frames: int) -> Any:
    return function() if frames == 0 else _deeper(function, frames - 1)


def class_lines(file: str) -> dict[str, int]:
    """Qualified name → line of the `class` statement, for the classes of a file that are not inside functions."""
    try:
        tree = ast.parse(source_of(file))
    except (OSError, SyntaxError, ValueError):
        return {}
    lines: dict[str, int] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                lines[prefix + child.name] = child.lineno
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                visit(child, f"{prefix}{child.name}.<locals>.")
            else:
                visit(child, prefix)

    visit(tree, "")
    return lines
