"""What a what-if answer needs of the interpreter: the operations of changed steps, the times of operations alone, and
changed steps timed in turns with the unchanged one. Each is a run of its own."""

from __future__ import annotations

import gc
import itertools
import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from typing import Any

from ridgeline_runner import changes, operation_log, operation_times, replica, timing
from ridgeline_runner.change import NotApplicable, Parts
from ridgeline_runner.channel import ChannelClosed
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
_FEWEST_ROUNDS = 3
_PATIENCE = 3  # times the seconds: then a slow step is timed in the fewest rounds
_WARMUP = 3
_NOT_LISTED = {"compile", "threads"}  # what these make of operations, or of their times, is not known before they run
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
    if _NOT_LISTED & {name.partition(":")[0] for name in request}:
        return {"operations": None}
    names = {id(module): name for model in parts.models for name, module in model.named_modules()}
    with _around(parts):
        log = operation_log.log_step(lambda: parts.function(*parts.inputs), names)
        recorder.forget_freed()

        def take_peak() -> int:
            peak = recorder.peak_bytes() - before
            recorder.forget_freed()
            return peak

        peaks = operation_log.peaks_by_phase(lambda: parts.function(*parts.inputs), take_peak)
    return {"operations": log.message(), "peakBytes": peaks, "batchSize": parts.samples}


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
    """Runs each changed step: first for its memory and its losses, with the allocator observed, then in turns with the
    unchanged step, with nothing of ours attached."""
    requests: list[list[str]] = spec["changes"]
    reporter.progress("try", 0.0, "Running the unchanged step")
    unchanged = _observed(entry, [], recorder)
    found: dict[int, dict[str, Any]] = {}
    for index, request in enumerate(requests):
        reporter.progress("try", 0.4 * index / len(requests), f"Trying {_title(request)}")
        found[index] = _or_reason(lambda request=request: _compared(unchanged, _observed(entry, request, recorder)))
    recorder.detach()
    side = _Side(entry, [])
    for index, request in enumerate(requests):
        reporter.progress("try", 0.4 + 0.6 * index / len(requests), f"Timing {_title(request)}")
        if "reason" not in found[index]:
            found[index] |= _or_reason(lambda request=request: _timed(side, _Side(entry, request), spec["seconds"]))
        reporter.channel.send({"type": "tried", "change": index, **found[index]})
        gc.collect()


def _or_reason(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` returns, or why it could not be done: whatever the changed step raises is an answer."""
    try:
        return work()
    except NotApplicable as reason:
        return {"reason": str(reason)}
    except ChannelClosed:
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit included
        reason = _one_line(error)
        release(error)
        return {"reason": reason}
    finally:
        gc.collect()


@dataclass(frozen=True)
class _Observed:
    """A step that ran a few times: its peak, and the mean loss of each run."""

    peak_bytes: int
    samples: int
    losses: list[float]


def _observed(entry: EntryPoint, request: list[str], recorder: Recorder) -> _Observed:
    import torch

    recorder.forget_freed()
    before = recorder.peak_bytes()
    torch.manual_seed(_SEED)
    parts = changes.build(entry, request, entry.batch_size)
    torch.manual_seed(_SEED)
    losses, peak = [], 0
    for _ in range(_DRIFT_STEPS):
        recorder.forget_freed()
        values: list[float] = []
        with _losses_into(values), _around(parts):
            parts.function(*parts.inputs)
        peak = recorder.peak_bytes() - before
        losses += [sum(values) / len(values)] if values else []
    return _Observed(peak, parts.samples, losses)


def _compared(unchanged: _Observed, changed: _Observed) -> dict[str, Any]:
    return {
        "unchangedPeakBytes": unchanged.peak_bytes,
        "changedPeakBytes": changed.peak_bytes,
        "unchangedBatchSize": unchanged.samples,
        "changedBatchSize": changed.samples,
        "lossDrift": _drift(unchanged.losses, changed.losses),
    }


class _Side:
    """A step that is timed: the unchanged one, or a changed one. Warm once it is made."""

    def __init__(self, entry: EntryPoint, request: list[str]) -> None:
        import torch

        torch.manual_seed(_SEED)
        self._parts = changes.build(entry, request, entry.batch_size)
        self._device = Device.of([named for model in self._parts.models for named in model.named_parameters()])
        self.estimate_ns = max(1, min(self._times(_WARMUP)))

    def round(self, seconds: float) -> float:
        """The median of so many seconds of iterations, after an untimed one: the other side cooled the caches, and left
        blocks of other sizes free."""
        count = max(1, min(50, round(seconds * 1e9 / self.estimate_ns)))
        self._times(1)
        return timing.median(self._times(count))

    def _times(self, count: int) -> list[int]:
        times = []
        with _around(self._parts):
            self._device.synchronise()
            for _ in range(count):
                start = perf_counter_ns()
                self._parts.function(*self._parts.inputs)
                self._device.synchronise()
                times.append(perf_counter_ns() - start)
        return times


def _timed(unchanged: _Side, changed: _Side, seconds: float) -> dict[str, Any]:
    deadline = perf_counter() + seconds
    rounds: tuple[list[float], list[float]] = ([], [])
    for number in range(_ROUNDS):
        # Who goes first alternates: the second one finds the machine as the first one left it.
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            rounds[which].append((unchanged, changed)[which].round(min(_ROUND_SECONDS, seconds / _ROUNDS)))
        ratios = [a / b for a, b in zip(*rounds, strict=True)]
        enough = number + 1 >= _LEAST_ROUNDS
        if enough and (perf_counter() > deadline or timing.relative_half_width(ratios) < _WANTED_HALF_WIDTH):
            break
        if number + 1 >= _FEWEST_ROUNDS and perf_counter() > _PATIENCE * seconds + deadline:
            break
    return {"unchangedNs": rounds[0], "changedNs": rounds[1]}


def _drift(unchanged: list[float], changed: list[float]) -> float | None:
    """The largest relative difference of the losses; -1 when a changed one is not a number, None where they cannot be
    compared."""
    if not unchanged or len(unchanged) != len(changed) or not all(map(math.isfinite, unchanged)):
        return None
    if not all(map(math.isfinite, changed)):
        return -1.0
    return max(abs(b - a) / max(abs(a), 1e-12) for a, b in zip(unchanged, changed, strict=True))


class _losses_into:  # noqa: N801 - a context manager
    """Notes the value of every tensor that backward starts from, summed."""

    def __init__(self, losses: list[float]) -> None:
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
    """`spec["experiment"]` is what to do: capture, measure, try or replica."""
    experiment = {**spec["experiment"], "memoryLimitBytes": spec.get("memoryLimitBytes", 0)}
    kind = experiment["kind"]
    if kind == "measure":
        measure(experiment, reporter)
    elif kind == "replica":
        replica.run(experiment, spec, reporter, recorder)
    else:
        reporter.progress("load", 0.0, "Loading the entry point")
        entry = EntryPoint.of(load(spec["entry"], spec["projectRoot"]), spec["entry"])
        {"capture": capture, "try": attempt}[kind](experiment, reporter, recorder, entry)
    import torch

    reporter.channel.send({"type": "experimentEnded", "threads": torch.get_num_threads(), "torch": torch.__version__})
