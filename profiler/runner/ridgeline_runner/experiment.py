"""What a what-if answer needs of the interpreter: the operations of changed steps, the times of operations alone, and
changed steps timed in turns with the unchanged one. Each is a run of its own."""

from __future__ import annotations

import gc
import itertools
import math
from contextlib import ExitStack
from time import perf_counter, perf_counter_ns
from typing import Any

from ridgeline_runner import changes, operation_log, operation_times, timing
from ridgeline_runner.channel import ChannelClosed
from ridgeline_runner.changes import NotApplicable, Parts
from ridgeline_runner.devices import Device
from ridgeline_runner.entry import EntryPoint, load
from ridgeline_runner.failure import release, summary
from ridgeline_runner.recorder import Recorder
from ridgeline_runner.reporter import Reporter

_SEED = 20_240_229
_ROUNDS = 12
_LEAST_ROUNDS = 6
_ROUND_SECONDS = 0.05
_WANTED_HALF_WIDTH = 0.01
_DRIFT_STEPS = 5  # whose losses are compared


def capture(spec: dict[str, Any], reporter: Reporter, recorder: Recorder, entry: EntryPoint) -> None:
    """Sends the operations of the unchanged step and of each changed one, and what memory they need. Nothing large is
    computed."""
    requests: list[list[str]] = [[], *spec["changes"]]
    for index, request in enumerate(requests):
        reporter.progress("capture", index / len(requests), f"Listing the operations of {_title(request)}")
        message: dict[str, Any] = {"type": "captured", "change": index}
        try:
            message |= _captured(entry, request, recorder)
        except NotApplicable as reason:
            message["reason"] = str(reason)
        except ChannelClosed:
            raise
        except BaseException as error:
            if not request:
                raise
            message["reason"] = _one_line(error)
            release(error)
        reporter.channel.send(message)
        gc.collect()


def _captured(entry: EntryPoint, request: list[str], recorder: Recorder) -> dict[str, Any]:
    import torch

    recorder.forget_freed()
    before = recorder.peak_bytes()
    torch.manual_seed(_SEED)
    parts = changes.build(entry, request, entry.batch_size)
    if "compile" in {name.partition(":")[0] for name in request}:
        return {"operations": None}  # what the compiler makes of them is not known before it has run
    names = {id(module): name for model in parts.models for name, module in model.named_modules()}
    with _around(parts):
        log = operation_log.log_step(lambda: parts.function(*parts.inputs), names)
        recorder.forget_freed()
        operation_log.run_uncomputed(lambda: parts.function(*parts.inputs))
    return {"operations": log.message(), "peakBytes": recorder.peak_bytes() - before, "batchSize": parts.samples}


def measure(spec: dict[str, Any], reporter: Reporter) -> None:
    """Sends the time of each operation of the spec. Runs nothing of the user's."""
    keys: list[str] = spec["operations"]
    done = itertools.count(1)

    def send(index: int, result: dict[str, Any]) -> None:
        reporter.channel.send({"type": "operationTime", "operation": index, **result})
        number = next(done)
        if number % 16 == 0:
            reporter.progress("measure", number / len(keys), f"Timing operations: {number} of {len(keys)}")

    def begin(index: int) -> None:
        reporter.channel.send({"type": "operationBegins", "operation": index})

    reporter.progress("measure", 0.0, f"Timing {len(keys)} operations")
    operation_times.measure(keys, int(spec["memoryLimitBytes"]), float(spec["seconds"]), begin=begin, send=send)


def attempt(spec: dict[str, Any], reporter: Reporter, recorder: Recorder, entry: EntryPoint) -> None:
    """Times each change in turns with the unchanged step, and compares memory and losses."""
    requests: list[list[str]] = spec["changes"]
    for index, request in enumerate(requests):
        reporter.progress("try", index / len(requests), f"Trying {_title(request)}")
        message: dict[str, Any] = {"type": "tried", "change": index}
        try:
            message |= _tried(entry, request, recorder, float(spec["seconds"]))
        except NotApplicable as reason:
            message["reason"] = str(reason)
        except ChannelClosed:
            raise
        except BaseException as error:  # noqa: BLE001 - what the changed step raises is the answer
            message["reason"] = _one_line(error)
            release(error)
        reporter.channel.send(message)
        gc.collect()


class _Side:
    """The unchanged step, or the changed one."""

    def __init__(self, entry: EntryPoint, request: list[str], recorder: Recorder) -> None:
        import torch

        recorder.forget_freed()
        before = recorder.peak_bytes()
        torch.manual_seed(_SEED)
        self.parts = changes.build(entry, request, entry.batch_size)
        parameters = [named for model in self.parts.models for named in model.named_parameters()]
        self._device = Device.of(parameters)
        self.losses: list[float | None] = []
        self.peak_bytes = 0
        self.round_ns: list[float] = []
        times: list[int] = []
        torch.manual_seed(_SEED)
        with _losses_into(self.losses):
            for _ in range(_DRIFT_STEPS):
                recorder.forget_freed()
                times.append(self._times(1)[0])
                self.peak_bytes = recorder.peak_bytes() - before
                self.losses.append(None)  # between steps
        self.estimate_ns = max(1, min(times))

    def time_round(self, seconds: float) -> None:
        count = max(1, min(50, round(seconds * 1e9 / self.estimate_ns)))
        if count > 1:
            self._times(1)
        self.round_ns.append(timing.median(self._times(count)))

    def _times(self, count: int) -> list[int]:
        times = []
        with _around(self.parts):
            self._device.synchronise()
            for _ in range(count):
                start = perf_counter_ns()
                self.parts.function(*self.parts.inputs)
                self._device.synchronise()
                times.append(perf_counter_ns() - start)
        return times


def _tried(entry: EntryPoint, request: list[str], recorder: Recorder, seconds: float) -> dict[str, Any]:
    recorder.track_memory(of_devices=False)
    unchanged, changed = _Side(entry, [], recorder), _Side(entry, request, recorder)
    recorder.detach()  # nothing of ours is attached while the steps are timed
    gc.collect()
    deadline = perf_counter() + seconds
    for number in range(_ROUNDS):
        # Who goes first alternates: the second one finds the machine as the first one left it.
        for side in (unchanged, changed) if number % 2 == 0 else (changed, unchanged):
            side.time_round(min(_ROUND_SECONDS, seconds / _ROUNDS))
        ratios = [a / b for a, b in zip(unchanged.round_ns, changed.round_ns)]
        enough = number + 1 >= _LEAST_ROUNDS
        if enough and (perf_counter() > deadline or timing.relative_half_width(ratios) < _WANTED_HALF_WIDTH):
            break
    return {
        "unchangedNs": unchanged.round_ns,
        "changedNs": changed.round_ns,
        "unchangedPeakBytes": unchanged.peak_bytes,
        "changedPeakBytes": changed.peak_bytes,
        "unchangedBatchSize": unchanged.parts.samples,
        "changedBatchSize": changed.parts.samples,
        "lossDrift": _drift(unchanged.losses, changed.losses),
    }


def _drift(unchanged: list[float | None], changed: list[float | None]) -> float | None:
    """The largest relative difference of the losses of a step, summed over the step; None where they cannot be
    compared."""
    one, other = _by_step(unchanged), _by_step(changed)
    if not one or len(one) != len(other):
        return None
    largest = 0.0
    for a, b in zip(one, other):
        if not math.isfinite(a):
            return None
        if not math.isfinite(b):
            return -1.0  # the changed step's loss is not a number
        largest = max(largest, abs(b - a) / max(abs(a), 1e-12))
    return largest


def _by_step(losses: list[float | None]) -> list[float]:
    """The mean loss of each step."""
    means: list[float] = []
    total, count = 0.0, 0
    for loss in losses:
        if loss is None:
            if count:
                means.append(total / count)
            total, count = 0.0, 0
        else:
            total, count = total + loss, count + 1
    return means


class _losses_into:  # noqa: N801 - a context manager
    """Notes the value of every tensor that backward starts from, summed."""

    def __init__(self, losses: list[float | None]) -> None:
        self._losses = losses

    def __enter__(self) -> None:
        import torch

        self._original = original = torch.autograd.backward
        losses = self._losses

        def observed(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            first = tensors[0] if isinstance(tensors, (list, tuple)) else tensors
            if isinstance(first, torch.Tensor):
                losses.append(float(first.detach().float().sum()))
            return original(tensors, *args, **kwargs)

        torch.autograd.backward = observed

    def __exit__(self, *_: object) -> None:
        import torch

        torch.autograd.backward = self._original


def _around(parts: Parts) -> ExitStack:
    stack = ExitStack()
    for enter in parts.around:
        stack.enter_context(enter())
    return stack


def _title(request: list[str]) -> str:
    return " + ".join(request) if request else "the unchanged step"


def _one_line(error: BaseException) -> str:
    return summary(error).strip().splitlines()[0][:300]


def run(spec: dict[str, Any], reporter: Reporter, recorder: Recorder) -> None:
    """`spec["experiment"]` is what to do: capture, measure or try."""
    experiment = {**spec["experiment"], "memoryLimitBytes": spec.get("memoryLimitBytes", 0)}
    kind = experiment["kind"]
    if kind == "measure":
        measure(experiment, reporter)
    else:
        reporter.progress("load", 0.0, "Loading the entry point")
        entry = EntryPoint.of(load(spec["entry"], spec["projectRoot"]), spec["entry"])
        {"capture": capture, "try": attempt}[kind](experiment, reporter, recorder, entry)
    import torch

    reporter.channel.send({"type": "experimentEnded", "threads": torch.get_num_threads()})
