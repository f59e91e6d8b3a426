"""Changed steps that are tried: run for their memory and their losses, and timed in turns with the unchanged one."""

from __future__ import annotations

import gc
import itertools
import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from typing import Any

from ridgeline_runner.changes import built_in
from ridgeline_runner.changes.change import NotApplicable, Parts, Way, title
from ridgeline_runner.common import timing
from ridgeline_runner.common.channel import ChannelClosed
from ridgeline_runner.common.dynamo import Compilations
from ridgeline_runner.common.failure import reason_of, release
from ridgeline_runner.machine.devices import Device, forget_workspaces
from ridgeline_runner.machine.page_faults import page_faults
from ridgeline_runner.step.entry import EntryPoint, load_entry_point
from ridgeline_runner.step.fresh_process import FreshProcesses, ProcessFailed, has_memory, time_rounds
from ridgeline_runner.step.recorder import Recorder
from ridgeline_runner.step.reporter import Reporter
from ridgeline_runner.step.samples import Sampled, are_timed_apart
from ridgeline_runner.step.training_step import warm_up

SEED = 20_240_229  # of every step that is built: changed and unchanged ones begin alike
MOST_ROUNDS = 12
LEAST_ROUNDS = 6
_ROUND_SECONDS = 0.05
WANTED_HALF_WIDTH = 0.01
_FEWEST_ROUNDS = 3
_PATIENCE = 3  # times the seconds: then a slow step is timed in the fewest rounds
_WARMUP = 3
_PROCESSES, _ROUNDS_OF_PROCESS = 2, 3  # of each side, where each turn is a process of its own
_DRIFT_STEPS = 5  # whose losses are compared
_OTHER_SEEDS = 3
_SEEDS_SECONDS = 20.0


def attempt(
    spec: dict[str, Any], reporter: Reporter, recorder: Recorder, entry: EntryPoint, processes: FreshProcesses
) -> None:
    """Runs each changed step: first for its memory and its losses, with the allocator observed, then in turns with the
    unchanged step, with nothing of ours attached."""
    requests: list[list[str]] = spec["changes"]
    reporter.progress("try", 0.0, "Running the unchanged step")
    unchanged = _observed(entry, [], recorder)
    seed_drift = _seed_drift(unchanged, entry, recorder)
    observed: dict[int, _Observed] = {}

    def compare(index: int) -> dict[str, Any]:
        observed[index] = _observed(entry, requests[index], recorder)
        return _compared(unchanged, observed[index]) | {"seedDrift": seed_drift}

    found: dict[int, dict[str, Any]] = {}
    for index, request in enumerate(requests):
        reporter.progress("try", 0.4 * index / len(requests), f"Trying {title(request)}")
        found[index] = _or_reason(lambda index=index: compare(index))
    recorder.detach()
    timer = _Timer(entry, processes, spec)
    for index, request in enumerate(requests):
        reporter.progress("try", 0.4 + 0.6 * index / len(requests), f"Timing {title(request)}")
        if "reason" not in found[index]:
            both = (unchanged, observed[index])
            found[index] |= _or_reason(lambda request=request, both=both: timer.time(request, both))
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
        reason = reason_of(error)
        release(error)
        return {"reason": reason}
    finally:
        gc.collect()


@dataclass(frozen=True)
class _Observed:
    """A step that ran a few times: its peak, and the mean loss of each run."""

    held_bytes: int  # before it was built: what importing the script holds, and what the steps before left
    peak_bytes: int  # without that
    samples: int
    losses: list[float]
    last: Sampled  # run
    on_host: bool


def _observed(entry: EntryPoint, request: list[str], recorder: Recorder, seed: int = SEED) -> _Observed:
    """`seed`: of the steps. Their weights and inputs are always those of SEED."""
    forget_workspaces()
    parts, device, begin = build_observed(entry, request, recorder)
    ((held, _),) = recorder.alive_bytes([begin])
    set_seed(seed)
    losses, peak = [], 0
    for _ in range(_DRIFT_STEPS):
        recorder.forget_freed()
        values: list[float] = []
        faults, start = page_faults(), perf_counter_ns()
        with _losses_into(values), parts.surroundings():
            parts.function(*parts.inputs)
        last = Sampled(parts.samples, warmup_ns=[perf_counter_ns() - start], page_faults=page_faults() - faults)
        peak = recorder.peak_bytes() - held
        losses += [sum(values) / len(values)] if values else []
    return _Observed(held, peak, parts.samples, losses, last, device.is_host)


def _seed_drift(unchanged: _Observed, entry: EntryPoint, recorder: Recorder) -> float | None:
    """How far the losses of the unchanged step differ with other random numbers in its steps, such as those of dropout:
    no change can be blamed for as much. None where that is not known, or would take too long."""
    runs = [unchanged.losses]
    drift = None
    end = perf_counter() + _SEEDS_SECONDS
    took = _DRIFT_STEPS * unchanged.last.estimate_ns / 1e9
    for number in range(1, 1 + _OTHER_SEEDS):
        start = perf_counter()
        if start + took > end:
            break
        runs.append(_observed(entry, [], recorder, SEED + number).losses)
        gc.collect()
        took = perf_counter() - start
        drift = largest_drift(runs)
        if not drift:  # nothing in the step is random, or there is nothing to compare
            break
    return drift


def largest_drift(runs: list[list[float]]) -> float | None:
    """The largest relative difference between the losses of any two runs of a step; None where two cannot be
    compared."""
    drifts = [relative_drift(one, other) for one, other in itertools.permutations(runs, 2)]
    known = [drift for drift in drifts if drift is not None and drift >= 0]
    return max(known) if known and len(known) == len(drifts) else None


def build_observed(
    entry: EntryPoint, request: list[str], recorder: Recorder, way: Way = Way.RUN
) -> tuple[Parts, Device, int]:
    """A changed step, the device that it is on, whose memory is observed from now on, and the moment before it was
    built, for alive_bytes()."""
    recorder.forget_freed()
    begin = recorder.moment()
    set_seed(SEED)
    parts = built_in.build(entry, request, entry.batch_size, way)
    device = device_of(parts)
    recorder.observe_memory_of(device)
    return parts, device, begin


def _compared(unchanged: _Observed, changed: _Observed) -> dict[str, Any]:
    return {
        # Both with what importing the script holds, as the peak of a profile.
        "unchangedPeakBytes": unchanged.held_bytes + unchanged.peak_bytes,
        "changedPeakBytes": unchanged.held_bytes + changed.peak_bytes,
        "unchangedBatchSize": unchanged.samples,
        "changedBatchSize": changed.samples,
        "lossDrift": relative_drift(unchanged.losses, changed.losses),
    }


def device_of(parts: Parts) -> Device:
    """Where the parameters are."""
    return Device.of([named for model in parts.models for named in model.named_parameters()])


def _times_of(parts: Parts, device: Device, count: int) -> list[int]:
    """Nanoseconds of each of `count` iterations in a row."""
    times = []
    with parts.surroundings():
        device.synchronise()
        for _ in range(count):
            start = perf_counter_ns()
            parts.function(*parts.inputs)
            device.synchronise()
            times.append(perf_counter_ns() - start)
    return times


class _Side:
    """A step that is timed: the unchanged one, or a changed one. Warm once it is made."""

    def __init__(self, entry: EntryPoint, request: list[str]) -> None:
        set_seed(SEED)
        self._parts = built_in.build(entry, request, entry.batch_size)
        self._device = device_of(self._parts)
        warmup_ns, has_settled = warm_up(lambda count: _times_of(self._parts, self._device, count), _WARMUP, _WARMUP)
        self.estimate_ns = max(1, min(warmup_ns))
        self._steps = len(warmup_ns)
        self.unsettled_steps = 0 if has_settled else self._steps  # that were run when torch.compile still compiled

    def round(self, seconds: float) -> float:
        """The median of so many seconds of iterations, after an untimed one: the other side cooled the caches, and left
        blocks of other sizes free."""
        count = max(1, min(50, round(seconds * 1e9 / self.estimate_ns)))
        compilations = Compilations()
        _times_of(self._parts, self._device, 1)
        times_ns = _times_of(self._parts, self._device, count)
        self._steps += 1 + count
        has_compiled, _ = compilations.step_ended()
        if has_compiled:
            self.unsettled_steps = self._steps
        return timing.median(times_ns)


class _Timer:
    """Times changed steps in turns with the unchanged one."""

    def __init__(self, entry: EntryPoint, processes: FreshProcesses, spec: dict[str, Any]) -> None:
        self._entry = entry
        self._processes = processes
        self._seconds = spec["seconds"]
        self._memory_limit_bytes = spec["memoryLimitBytes"]
        self._unchanged: _Side | None = None

    def time(self, request: list[str], observed: tuple[_Observed, _Observed]) -> dict[str, Any]:
        """`observed`: of the unchanged step, and of the changed one."""
        on_host = all(one.on_host for one in observed)
        if on_host and are_timed_apart([one.last for one in observed]) and has_memory(self._memory_limit_bytes):
            try:
                return _timed_apart(self._processes, request, observed)
            except ProcessFailed as problem:  # the code may not run a second time
                return self._together(request) | {"togetherBecause": str(problem)}
        return self._together(request)

    def _together(self, request: list[str]) -> dict[str, Any]:
        self._unchanged = self._unchanged or _Side(self._entry, [])
        return _timed(self._unchanged, _Side(self._entry, request), self._seconds)


def _timed_apart(
    processes: FreshProcesses, request: list[str], observed: tuple[_Observed, _Observed]
) -> dict[str, Any]:
    rounds: tuple[list[float], list[float]] = ([], [])
    unsettled_steps = [0, 0]
    for number in range(_PROCESSES):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            change = (list[str](), request)[which]
            expected = (_WARMUP + _ROUNDS_OF_PROCESS) * observed[which].last.estimate_ns / 1e9
            measured = processes.run({"change": change, "rounds": _ROUNDS_OF_PROCESS}, expected)
            rounds[which].extend(timing.median(times) for times in measured["roundsNs"])
            if not measured["hasSettled"]:
                unsettled_steps[which] = max(unsettled_steps[which], len(measured["warmupNs"]))
    return _of_both(rounds, unsettled_steps)


def time_apart(spec: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """In a process that has run nothing: times the step with the change of the request, as time_rounds() has it."""
    entry = load_entry_point(spec)
    set_seed(SEED)
    parts = built_in.build(entry, request["change"], entry.batch_size)
    device = device_of(parts)
    seconds = float(spec["experiment"]["seconds"])
    return time_rounds(lambda count: _times_of(parts, device, count), request["rounds"], seconds)


def _timed(unchanged: _Side, changed: _Side, seconds: float) -> dict[str, Any]:
    deadline = perf_counter() + seconds
    rounds: tuple[list[float], list[float]] = ([], [])
    for number in range(MOST_ROUNDS):
        # Who goes first alternates: the second one finds the machine as the first one left it.
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            rounds[which].append((unchanged, changed)[which].round(min(_ROUND_SECONDS, seconds / MOST_ROUNDS)))
        ratios = [a / b for a, b in zip(*rounds, strict=True)]
        enough = number + 1 >= LEAST_ROUNDS
        if enough and (perf_counter() > deadline or timing.relative_half_width(ratios) < WANTED_HALF_WIDTH):
            break
        if number + 1 >= _FEWEST_ROUNDS and perf_counter() > _PATIENCE * seconds + deadline:
            break
    return _of_both(rounds, [unchanged.unsettled_steps, changed.unsettled_steps])


def _of_both(rounds: tuple[list[float], list[float]], unsettled_steps: list[int]) -> dict[str, Any]:
    return {
        "unchangedNs": rounds[0],
        "changedNs": rounds[1],
        "unchangedUnsettledSteps": unsettled_steps[0],
        "changedUnsettledSteps": unsettled_steps[1],
    }


def relative_drift(unchanged: list[float], changed: list[float]) -> float | None:
    """The largest relative difference of the losses; -1 when a changed one is not a number, None where they cannot be
    compared."""
    if not unchanged or len(unchanged) != len(changed) or not all(map(math.isfinite, unchanged)):
        return None
    if not all(map(math.isfinite, changed)):
        return -1.0
    return max(abs(b - a) / max(abs(a), 1e-12) for a, b in zip(unchanged, changed, strict=True))


def set_seed(seed: int) -> None:
    """Seeds torch, Python's `random`, and NumPy where it is loaded."""
    import torch

    torch.manual_seed(seed)
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)


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
