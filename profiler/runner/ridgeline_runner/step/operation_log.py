"""Which operations a step consists of, in order; where it is a changed step, found without computing them.

Every operation that reaches the dispatcher below autograd is noted with what its time depends on. Where nothing is
computed, its result has the right shape, type and strides, and no data: only operations on small tensors, views and
those whose result's shape needs data are really run. So the list of a step costs milliseconds, whatever the step costs,
and the allocator sees the memory that the step would need.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import Any

from ridgeline_runner.cuda import operators
from ridgeline_runner.machine.page_faults import first_use_ns, trim_heap
from ridgeline_runner.measure.operation_key import NotDescribed, key_of
from ridgeline_runner.step import in_place_sums

MAX_OPERATIONS = 200_000
FORWARD, BACKWARD, OPTIMIZER = range(3)
_HOST_RUNS = 5  # of a step, for the time between its operations
_HOST_NS = 250_000_000  # after which no further run begins
_FAULT_RUNS = 2  # of a step, for the page faults of its operations
_FAULT_NS = 1_000_000_000  # after which no further run begins
SMALL = 4096  # elements: such operations are run: counters, masks, losses, checks


class TooManyOperations(Exception):
    """The step has more operations than are noted."""


class OperationLog:
    """The operations of one step: keys, each once, and the sequence of (key, phase, module) as indices; -1 for an
    operation that cannot be described, of which `names` has the name."""

    def __init__(self) -> None:
        self.keys: dict[str, int] = {}
        self.names: dict[str, int] = {}
        self.modules: dict[str, int] = {"": 0}
        self.sequence: list[tuple[int, int, int, int]] = []
        self.phase = FORWARD
        self.module = 0

    def note(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if len(self.sequence) >= MAX_OPERATIONS:
            raise TooManyOperations(f"the step has more than {MAX_OPERATIONS:,} operations")
        try:
            key = self.keys.setdefault(key_of(operator, args, kwargs), len(self.keys))
        except NotDescribed:
            key = -1
        name = self.names.setdefault(operator._schema.name, len(self.names))
        phase = self.current_phase()
        self.sequence.append((key, name, phase, self.module if phase == FORWARD else 0))

    def current_phase(self) -> int:
        import torch

        return BACKWARD if torch._C._current_graph_task_id() != -1 else self.phase

    def memory(self, alive: list[tuple[int, int]]) -> dict[str, Any]:
        """`alive`: of the step and of each operation, the bytes alive when it began, and the most until the next one
        began. The peak of each phase; and the most that was alive when an operation began, as (phase, key, bytes) in
        one list."""
        peaks = [max(alive[0]), 0, 0]
        most: dict[tuple[int, int], int] = {}
        for (key, _, phase, _), (at, until) in zip(self.sequence, alive[1:], strict=True):
            peaks[phase] = max(peaks[phase], until)
            if key >= 0:
                most[phase, key] = max(most.get((phase, key), 0), at)
        return {"peakBytes": peaks, "aliveBytes": [number for place, at in most.items() for number in (*place, at)]}

    def message(self) -> dict[str, Any]:
        return {
            "keys": list(self.keys),
            "names": list(self.names),
            "modules": list(self.modules),
            "sequence": [number for entry in self.sequence for number in entry],
        }


def log_step(
    step: Callable[[], Any], module_names: dict[int, str], before: Callable[[], None] = lambda: None
) -> OperationLog:
    """The operations of `step()`, which runs twice: the first time creates the optimizer's state. Raises what the step
    raises. `module_names`: the dotted name by id of the instance. `before` is called before the second run and before
    each operation of it."""
    log = OperationLog()

    def note(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        log.note(operator, args, kwargs)
        before()

    run_uncomputed(step)
    with _mode(note), _phases(log), _modules(log, module_names):
        before()
        step()
    return log


def log_warm_step(step: Callable[[], Any], check: Callable[[], None]) -> OperationLog:
    """The operations of `step()`, which has run before and computes all of them, without modules. Raises what the step
    raises, and what `check` does, which is called before each operation."""
    log = OperationLog()

    def note(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        check()
        log.note(operator, args, kwargs)

    with noted(log, note):
        step()
    return log


@contextlib.contextmanager
def noted(
    log: OperationLog,
    note: Callable[[Any, tuple[Any, ...], dict[str, Any]], None],
    *,
    begin: Callable[[], None] = lambda: None,
    end: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """What runs inside is computed, on this thread and in its backward; `note` is called before each operation, `begin`
    before anything is done about it, `end` after it."""
    with _mode(note, compute=True, begin=begin, end=end), _phases(log):
        yield


@contextlib.contextmanager
def in_modules(log: OperationLog, names: dict[int, str]) -> Iterator[None]:
    """The log says in which module an operation of forward runs. `names`: the dotted name by id of the instance."""
    with _modules(log, names):
        yield


def run_uncomputed(step: Callable[[], Any]) -> None:
    """Runs the step without computing anything that is large: whether its shapes fit. Raises what the step raises."""
    with _mode(lambda *_: None):
        step()


def host_times(step: Callable[[], Any], operations: int) -> list[int]:
    """Nanoseconds of the host before each operation of `step()` since the one before it ended or the step began: of
    Python, autograd and the dispatch, the shortest of some runs that compute nothing large. Empty where no run has so
    many operations."""
    begin, shortest = perf_counter_ns(), list[int]()
    for _ in range(_HOST_RUNS):
        times = _host_times(step)
        if len(times) == operations:
            shortest = list(map(min, shortest or times, times))
        if perf_counter_ns() - begin > _HOST_NS:
            break
    return shortest


def _host_times(step: Callable[[], Any]) -> list[int]:
    times: list[int] = []

    def begin() -> None:
        times.append(perf_counter_ns() - ended)

    def end() -> None:
        nonlocal ended
        ended = perf_counter_ns()

    with _mode(lambda *_: None, begin=begin, end=end):
        ended = perf_counter_ns()
        step()
    return times


def page_fault_times(step: Callable[[], Any], operations: int) -> list[int]:
    """Nanoseconds that the kernel takes to give each operation of `step()` the memory that its results are the first to
    use: the mean of some runs that compute nothing large. Empty where a run has not so many operations.

    The results are allocated as in the step that computes them, so that the C library's heap gets memory from the
    kernel, and gives it back, in the same places; every page of them is used once. On one thread: of an operation that
    uses its results in several at once, each has its part of the pages."""
    trim_heap()
    _page_fault_times(step)  # as in every step after the first
    begin, runs = perf_counter_ns(), list[list[int]]()
    while len(runs) < _FAULT_RUNS and perf_counter_ns() - begin < _FAULT_NS:
        runs.append(_page_fault_times(step))
        if len(runs[-1]) != operations:
            return []
    return [sum(times) // len(runs) for times in zip(*runs, strict=True)]


def _page_fault_times(step: Callable[[], Any]) -> list[int]:
    import torch

    times: list[int] = []

    def use(result: Any) -> None:
        times[-1] += sum(first_use_ns(value) for value in _leaves([result]) if isinstance(value, torch.Tensor))

    with _mode(lambda *_: times.append(0), allocated=use):
        step()
    return times


def _mode(
    note: Callable[[Any, tuple[Any, ...], dict[str, Any]], None],
    *,
    compute: bool = False,
    begin: Callable[[], None] = lambda: None,
    end: Callable[[], None] = lambda: None,
    allocated: Callable[[Any], None] = lambda _: None,
) -> Any:
    """`note` is called before each operation, `begin` before anything is done about it, `end` after it; `allocated`
    with a result that is new and has no data."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    unshared = in_place_sums.find_unshared()

    class Noted(TorchDispatchMode):
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            is_listed = func.namespace != "profiler"
            if is_listed:
                begin()
            kwargs = kwargs or {}
            is_in_place = in_place_sums.is_in_place(func, args, kwargs, unshared)
            listed = torch.ops.aten.add_.Tensor if is_in_place else func
            if is_listed:
                note(listed, args, kwargs)
            result, has_data = (_computed(func, args, kwargs), True) if compute else _uncomputed(listed, args, kwargs)
            end()
            if is_listed and not has_data:
                allocated(result)
            return result

    return Noted()


def _computed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if func._schema.name in operators.OF_CUDA:
        first = next(value for value in _leaves([*args]) if hasattr(value, "device"))
        if first.device.type == "cpu":
            on_meta = func(*_to_meta(args), **_to_meta(kwargs))
            return tuple(map(_strided_as, on_meta, operators.on_host(func, args, kwargs)))
    return func(*args, **kwargs)


def _strided_as(on_meta: Any, result: Any) -> Any:
    """The kernels of the host may order the dimensions of a result in another way."""
    import torch

    tensors = isinstance(on_meta, torch.Tensor) and isinstance(result, torch.Tensor)
    if not tensors or on_meta.shape != result.shape or on_meta.stride() == result.stride():
        return result
    return torch.empty_strided(on_meta.shape, on_meta.stride(), dtype=result.dtype).copy_(result)


def _uncomputed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool]:
    """The result of an operation, computed only where it is cheap or its shape depends on data; and whether it has
    data: else it is new memory."""
    import torch

    tensors = [value for value in _leaves([*args, *kwargs.values()]) if isinstance(value, torch.Tensor)]
    if func._schema.name in operators.OF_CUDA and tensors[0].device.type == "cpu":
        return _from_meta(func(*_to_meta(args), **_to_meta(kwargs)), tensors[0].device), False
    elements = sum(tensor.numel() for tensor in tensors)
    is_view = func.is_view or torch.Tag.inplace_view in func.tags  # such as transpose_
    has_data = not any(tensor.is_meta for tensor in tensors)
    is_small = elements <= SMALL and has_data
    if not tensors or is_small or is_view or any(tensor.is_sparse for tensor in tensors):
        return func(*args, **kwargs), True
    if func._schema.name == "aten::mkldnn_rnn_layer":
        return _recurrent(func, args, kwargs), True
    written = _written(func, args, kwargs)
    if written is not None:
        return written[0] if len(written) == 1 else tuple(written) or None, True
    try:
        on_meta = func(*_to_meta(args), **_to_meta(kwargs))
    except Exception:  # noqa: BLE001 - no kernel for shapes alone, or the shape depends on data
        return func(*args, **kwargs), True
    device = kwargs.get("device") or tensors[0].device  # of aten::_to_copy: where it goes
    return _from_meta(on_meta, device, _format_of_results(func, tensors)), False


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """The arguments that an operation writes to and returns; None for one that returns something new."""
    schema = func._schema
    if not schema.is_mutable or any(r.alias_info is None or not r.alias_info.is_write for r in schema.returns):
        return None
    by_name = dict(zip((argument.name for argument in schema.arguments), args, strict=False)) | kwargs
    written = [by_name.get(a.name) for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return written[: len(schema.returns)]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    else:
        yield value


def _to_meta(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, torch.device):
        return torch.device("meta")
    if isinstance(value, dict):
        return {key: _to_meta(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_to_meta(item) for item in value)
    return value


_recurrent_results: dict[str, list[Any]] = {}  # on meta, by the key of the call


def _recurrent(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of a recurrent layer, computed once for each shape: how large the workspace for its backward is, only
    oneDNN knows."""
    key = key_of(func, args, kwargs)
    if key not in _recurrent_results:
        results = func(*args, **kwargs)
        _recurrent_results[key] = _to_meta(list(results))
        return results
    return tuple(_from_meta(_recurrent_results[key], args[0].device))


def _format_of_results(func: Any, tensors: list[Any]) -> Any:
    """The memory format of what an operation returns, where operations on meta tensors do not tell it. None: they do.

    Of a convolution it is that of its input or weight, where one of them is channels-last. The results of a batch
    normalisation are contiguous where its input is not channels-last."""
    import torch

    name = func._schema.name
    channels_last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensors[0].dim())
    if name in ("aten::convolution", "aten::convolution_backward"):
        is_so = channels_last is not None and any(_is_in(tensor, channels_last) for tensor in tensors[-3:])
        return channels_last if is_so else None
    if name in ("aten::native_batch_norm", "aten::native_batch_norm_backward"):
        source = tensors[0 if name == "aten::native_batch_norm" else 1]
        return None if channels_last is not None and _is_in(source, channels_last) else torch.contiguous_format
    return None


def _is_in(tensor: Any, memory_format: Any) -> bool:
    return tensor.is_contiguous(memory_format=memory_format) and not tensor.is_contiguous()


def _from_meta(value: Any, device: Any, memory_format: Any = None) -> Any:
    """`memory_format`: None: as they are strided on meta. Channels-last: of four or five dimensions."""
    import torch

    if isinstance(value, torch.Tensor):
        if memory_format is torch.contiguous_format or (memory_format is not None and value.dim() > 3):
            made = torch.empty(value.shape, dtype=value.dtype, device=device, memory_format=memory_format)
        else:
            made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
        return made.zero_() if made.numel() <= SMALL else made
    if isinstance(value, (list, tuple)):
        return type(value)(_from_meta(item, device, memory_format) for item in value)
    return value


@contextlib.contextmanager
def _phases(log: OperationLog) -> Iterator[None]:
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    def enter(*_: Any) -> None:
        log.phase = OPTIMIZER

    def leave(*_: Any) -> None:
        log.phase = FORWARD

    hooks = [register_optimizer_step_pre_hook(enter), register_optimizer_step_post_hook(leave)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def _modules(log: OperationLog, names: dict[int, str]) -> Iterator[None]:
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    outside: list[int] = []

    def enter(module: Any, *_: Any) -> None:
        outside.append(log.module)
        name = names.get(id(module))
        if name is not None:
            log.module = log.modules.setdefault(name, len(log.modules))

    def leave(*_: Any) -> None:
        if outside:
            log.module = outside.pop()

    hooks = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
