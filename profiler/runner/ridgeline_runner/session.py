"""One profile: load, warm up, record, then time the bare step.

Recording comes first, with the allocator observed from before the model exists until the last recording ends, so that
every live block is known. The timed iterations come last, with nothing of ours attached, and the batch sizes take
turns, so that a machine that slows down slows them all. Once all have some times, the daemon is asked which other batch
sizes its model is unsure of; they are timed, too, until it asks for no more or the time budget is spent.

Whatever is measured is sent at once: a run that is cut short still gives a report of what it has measured.
"""

from __future__ import annotations

import gc
import itertools
import math
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, perf_counter_ns  # before user code can replace them
from typing import Any

from ridgeline_runner import cpu_for_cuda, devices, fitting, overlay, timing
from ridgeline_runner.channel import Channel, ChannelClosed
from ridgeline_runner.entry import EntryPoint, load, tensors_in
from ridgeline_runner.failure import Failure, describe, kind_of, release, summary
from ridgeline_runner.processors import ClockWatch
from ridgeline_runner.recorder import Recorder, Stage, name_compiled_kernels
from ridgeline_runner.sources import imported_files
from ridgeline_runner.unused_gradients import UnusedGradients

_MAX_WARMUP = 20
_WARMUP_SECONDS, _LATER_WARMUP_SECONDS = 5.0, 1.0
_RECORDED_SHARE, _RECORDED_SECONDS = 0.1, 1.0  # of the time budget, and at most
_MIN_RECORDED, _MAX_RECORDED = 3, 30
_SLOW_SECONDS = 0.25  # a step that takes so long is run as seldom as possible
_SLOW_RECORDED = 2
_OTHERS_RECORDED_SHARE = 0.3  # of what the user's batch size gets
_OTHERS_MAX_RECORDED = 10
_MIN_ROUNDS = 6
_WANTED_SIZES = 3
_MOST_SIZES = 5
_EXTRA_ITERATIONS = 10  # that one more batch size costs: warm-up, recording, rounds
_EXTRA_SHARE = 1 / 3  # of the time budget that it may cost
_QUICK_ITERATIONS = 5  # that a batch size costs which is recorded for one iteration only
_QUICK_SHARE = 0.03
_MEMORY_SHARE = 0.8  # of what there is, that a batch size which nobody asked for may need
_ANSWER_SECONDS = 2.0
_LARGEST_RATIO = 64.0  # of a batch size that nobody asked for to the largest that was
_MAX_SENT = 1024  # medians of rounds that the daemon is sent of one batch size
_WANTED_HALF_WIDTH = 0.01
_ROUND_SECONDS = 0.03
_SHORT_SECONDS = 0.02  # a step that is shorter is run once untimed before each round, for the caches,
_LEAST_OF_SHORT = 8  # which is to take little of the time: so many timed ones follow
_LARGE_INPUTS = 1 / 64  # of the memory limit: then smaller batch sizes are asked first
_CLEARLY_BEYOND = 1.25  # times the limit: another algorithm can need a fifth less than small batch sizes tell
_MOST_UNUSED = 4096  # parameters that are told; the daemon takes no more
_ALL_EVERY = 4  # rounds: then known batch sizes are timed too, so that all are timed on the same machine state


@dataclass
class Sampled:
    """What one batch size gave."""

    batch_size: int
    check: bool = False  # not for the models: to see how far off they are
    warmup_ns: list[int] = field(default_factory=list)
    round_seconds: float = _ROUND_SECONDS
    iterations: int = 0  # that were timed
    round_medians_ns: list[float] = field(default_factory=list)

    @property
    def estimate_ns(self) -> int:
        return max(1, min(self.warmup_ns))

    @property
    def per_round(self) -> int:
        """Iterations of one round of timing."""
        return max(1, min(50, round(self.round_seconds * 1e9 / self.estimate_ns)))

    @property
    def enough_rounds(self) -> bool:
        return len(self.round_medians_ns) >= _MIN_ROUNDS

    @property
    def is_known(self) -> bool:
        return self.enough_rounds and timing.relative_half_width(self.round_medians_ns) <= _WANTED_HALF_WIDTH


CHANNEL_LOST = 71  # exit code: the daemon knows what it means


def run(spec: dict[str, Any], channel: Channel) -> int:
    """Profiles what `spec` describes and tells the daemon. The exit code: 0, 1 after a failure, or CHANNEL_LOST."""
    session = _Session(spec, channel)
    try:
        try:
            session.profile()
        except ChannelClosed:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever user code raises is an answer, SystemExit included
            channel.send(describe(error, session.stage, session.batch_size))
            return 1
    except ChannelClosed:
        return CHANNEL_LOST
    return 0


class _Session:
    def __init__(self, spec: dict[str, Any], channel: Channel) -> None:
        self._spec = spec
        self._channel = channel
        self.stage = "load"
        self.batch_size: int | None = None
        self._skipped: list[int] = []  # batch sizes
        self._warnings: list[str] = []
        self._growth: fitting.Growth | None = None  # of the peak, by small batch sizes that were run for it
        self._searched = False
        self._clock = ClockWatch()
        self._device = devices.Device()

    def profile(self) -> None:
        spec = self._spec
        overlay.install(spec.get("overlay", {}))
        if spec.get("device") == "cpu":
            cpu_for_cuda.install()
        agent = sys.modules["_ridgeline_agent"]
        recorder = Recorder(agent, spec["projectRoot"])
        if not recorder.track_memory(of_devices=spec.get("device") != "cpu" and devices.has_cuda()):
            raise Failure("allocator", "LibTorch's CPU allocator cannot be observed: another tool has replaced it.")
        name_compiled_kernels()
        recorder.stage(Stage.LOAD)
        self._progress("load", 0.0, "Loading the entry point")
        entry = EntryPoint.of(load(spec["entry"], spec["projectRoot"]), spec["entry"])
        self._progress("model", 0.02, "Building the model")
        recorder.stage(Stage.MODEL)
        positional, keywords = entry.models()
        parameters = recorder.set_models(positional, keywords)
        unused = UnusedGradients(parameters)
        self._device = devices.Device.of(parameters)
        recorder.use_device(self._device)
        recorder.stage(Stage.PREPARE)
        self.stage = "prepare"
        step = entry.iteration(positional, keywords)

        chosen = self._record_chosen(recorder, entry, step)
        self._send_result(chosen, recorder, final=False)
        sampled = self._record_others(recorder, entry, step, chosen)
        recorder.let_go()
        self._time(entry, step, sampled)
        fastest = min((s.batch_size for s in sampled if s.iterations), default=chosen.batch_size)
        unused_gradients = self._unused_gradients(unused, entry, step, fastest)
        self._send_result(chosen, recorder, final=True, unused_gradients=unused_gradients)

    def _send_result(
        self,
        chosen: Sampled,
        recorder: Recorder,
        *,
        final: bool,
        unused_gradients: list[dict[str, Any]] | None = None,
    ) -> None:
        """What the daemon needs beside recordings and times. The first, which is not final, is for a run that is cut
        short."""
        import torch

        spec = self._spec
        files, complete = imported_files(spec["projectRoot"], spec["environmentRoots"], spec["entry"])
        self._channel.send(
            {
                "type": "result",
                "final": final,
                "batchSize": chosen.batch_size,
                "threads": torch.get_num_threads(),
                "lowMHz": self._clock.low_mhz,
                "highMHz": self._clock.high_mhz,
                "inPlaceOf": cpu_for_cuda.in_place_of(),
                "device": self._device.described(),
                "warnings": [
                    *cpu_for_cuda.warnings(),
                    *self._warnings,
                    *recorder.warnings(),
                    *self._device.warnings(),
                ],
                "unusedGradients": unused_gradients or [],
                "importedFiles": files,
                "importedFilesComplete": complete,
            }
        )

    def _record_chosen(self, recorder: Recorder, entry: EntryPoint, step: Callable[..., Any]) -> Sampled:
        """The user's own batch size; when it does not fit, one of its halves: the first that smaller sizes tell to fit,
        or the first that does. Else a failure."""
        size = entry.batch_size
        while True:
            self._progress("record", 0.05, f"Recording batch size {size}")
            try:
                sampled = self._record(recorder, entry, step, size, chosen=True)
            except Exception as error:
                if size == 1 or kind_of(error) != "out-of-memory":
                    raise
                if size == entry.batch_size:
                    reason = summary(error)
                self._skip(error, size)
                recorder.forget_attempt()
                size = self._smaller(recorder, entry, step, size)
            else:
                if size != entry.batch_size:
                    self._warnings.append(
                        f"Batch size {entry.batch_size} does not fit: {reason}{self._prediction(entry.batch_size)}. "
                        f"These figures are of batch size {size}."
                    )
                return sampled

    def _smaller(self, recorder: Recorder, entry: EntryPoint, step: Callable[..., Any], size: int) -> int:
        """What to try after a batch size that did not fit."""
        if size == entry.batch_size:
            self._find_growth(recorder, entry, step, size)
            if self._growth is not None:
                return fitting.first_half_within(size, self._largest())
        return size // 2

    def _find_growth(self, recorder: Recorder, entry: EntryPoint, step: Callable[..., Any], below: int) -> None:
        """Runs small batch sizes, once, to know how the peak grows. A step that fails there tells nothing."""
        if self._searched:
            return
        self._searched = True
        self._progress("record", 0.05, f"Looking for the largest batch size below {below} that fits")

        def peak_of(size: int) -> int:
            recorder.stage(Stage.INPUT)
            inputs = entry.inputs(size)
            recorder.stage(Stage.ITERATION)
            for _ in range(2):  # the first makes the optimizer's state
                step(*inputs)
            self._device.synchronise()
            peak = recorder.peak_bytes()
            del inputs
            recorder.forget_attempt()
            return peak

        try:
            self._growth = fitting.find_growth(peak_of, below)
        except ChannelClosed:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit included
            release(error)
        recorder.forget_attempt()
        self._device.forget_cached()

    def _limit_bytes(self) -> int:
        """What the step's tensors may take at most; 0: unknown."""
        limit = self._spec.get("memoryLimitBytes", 0) if self._device.is_host else self._device.available_bytes()
        return int(limit)

    def _largest(self) -> int:
        """The largest batch size that is told to fit. What the process needs beside the step's tensors takes room."""
        assert self._growth is not None
        beside = max(0, fitting.data_bytes() - self._growth.large_bytes) if self._device.is_host else 0
        return self._growth.largest_within(self._limit_bytes() - beside)

    def _prediction(self, size: int) -> str:
        growth = self._growth
        if growth is None:
            return ""
        return (
            f" (by batch sizes {growth.small} and {growth.large} it needs {fitting.gibibytes(growth.bytes_at(size))}, "
            f"the limit is {fitting.gibibytes(self._limit_bytes())}, and about {self._largest()} fits)"
        )

    def _refuse_what_cannot_fit(self, size: int) -> None:
        """Raises where the line through smaller batch sizes lies clearly beyond the limit."""
        growth = self._growth
        limit = self._limit_bytes()
        if growth is not None and size > growth.large and 0 < _CLEARLY_BEYOND * limit < growth.bytes_at(size):
            raise Failure(
                "out-of-memory",
                f"Batch size {size} was not run: by batch sizes {growth.small} and {growth.large} it needs "
                f"{fitting.gibibytes(growth.bytes_at(size))} of memory, and the limit is {fitting.gibibytes(limit)}",
            )

    def _record_others(
        self, recorder: Recorder, entry: EntryPoint, step: Callable[..., Any], chosen: Sampled
    ) -> list[Sampled]:
        """The chosen batch size and others: those that were asked for, or enough for the models and, where the step is
        fast, some more; then those that only check the models. One that fails is skipped."""
        sampled = [chosen]
        tried = {chosen.batch_size, *self._skipped}

        def attempt(size: int, *, check: bool = False, quick: bool = False) -> None:
            if size in tried:
                return
            tried.add(size)
            done = min(1.0, len(sampled) / _MOST_SIZES)
            self._progress("record", 0.05 + 0.45 * done, f"Recording batch size {size}")
            try:
                sampled.append(self._record(recorder, entry, step, size, check=check, quick=quick))
            except ChannelClosed:
                raise
            except BaseException as error:  # noqa: BLE001 - SystemExit included
                self._skip(error, size)

        asked = self._spec.get("batchSizes") or []
        for size in asked or batch_size_candidates(chosen.batch_size):
            if asked or len(sampled) < _WANTED_SIZES:
                attempt(size)
        for size in [] if asked or self._skipped else extra_batch_sizes(chosen.batch_size):
            if len(sampled) < _MOST_SIZES and self._is_affordable(size, sampled):
                attempt(size)
        for size in [] if asked or self._skipped else quick_batch_sizes(chosen.batch_size):
            if self._is_affordable(size, sampled, quick=True) and size <= self._largest_affordable(sampled):
                attempt(size, quick=True)
        for size in self._spec.get("checkSizes") or []:
            attempt(size, check=True)
        return sampled

    def _is_affordable(self, size: int, sampled: list[Sampled], *, quick: bool = False) -> bool:
        """Whether one more batch size fits into the time budget, by what the others took. One that is recorded quickly
        must hardly be noticed."""
        larger = [s.estimate_ns for s in sampled if s.batch_size >= size]
        most = max(sampled, key=lambda s: s.batch_size)
        estimate_ns = min(larger) if larger else most.estimate_ns * size / most.batch_size
        cost_ns = max(_EXTRA_ITERATIONS * estimate_ns, _MIN_ROUNDS * _ROUND_SECONDS * 1e9)
        budget_ns = self._budget_seconds * 1e9
        if quick and _QUICK_ITERATIONS * estimate_ns > _QUICK_SHARE * budget_ns:
            return False
        return cost_ns <= _EXTRA_SHARE * budget_ns

    def _largest_affordable(self, sampled: list[Sampled]) -> int:
        """The largest batch size whose memory is within what there is, for all that is known: by proportion to what was
        needed so far, and below what failed."""
        largest = max(s.batch_size for s in sampled)
        most = math.floor(largest * _MEMORY_SHARE / max(self._memory_used(), _MEMORY_SHARE / _LARGEST_RATIO))
        too_large = [failed for failed in self._skipped if failed > largest]
        return min(most, *(size - 1 for size in too_large)) if too_large else most

    def _memory_used(self) -> float:
        """The most so far, as a part of what there is; as if nothing were left where that is not known."""
        limit = self._spec.get("memoryLimitBytes", 0)
        used = _peak_resident_bytes() / limit if limit > 0 else 1.0
        return max(used, self._device.memory_used())

    @property
    def _budget_seconds(self) -> float:
        return float(self._spec.get("timeBudgetSeconds", 10.0))

    def _round_seconds(self, warmup_ns: list[int]) -> float:
        """Shorter than usual where the budget would not hold the least number of rounds."""
        usual, step = _ROUND_SECONDS, min(warmup_ns) / 1e9
        if step < _SHORT_SECONDS:
            usual = max(usual, _LEAST_OF_SHORT * step)
        return min(usual, self._budget_seconds / (_MIN_ROUNDS * _WANTED_SIZES))

    def _record(
        self,
        recorder: Recorder,
        entry: EntryPoint,
        step: Callable[..., Any],
        size: int,
        *,
        chosen: bool = False,
        check: bool = False,
        quick: bool = False,
    ) -> Sampled:
        self.batch_size = size
        self.stage = "input"
        self._device.forget_cached()  # else the memory that another batch size left would be this one's
        recorder.stage(Stage.INPUT)
        self._refuse_what_cannot_fit(size)
        inputs = entry.inputs(size)
        entry.check_arguments(step, inputs)
        if not self._searched and self._is_large(inputs):
            del inputs
            self._find_growth(recorder, entry, step, size)
            self._refuse_what_cannot_fit(size)
            inputs = entry.inputs(size)
        self.stage = "iteration"
        recorder.stage(Stage.ITERATION)
        warmup_ns = self._warm_up(step, inputs, recorder.forget_freed, first=chosen)
        sampled = Sampled(size, check, warmup_ns, self._round_seconds(warmup_ns))
        iterations = 1 if quick or check else _recorded_iterations(sampled, self._budget_seconds, chosen=chosen)
        recorder.record(step, inputs, iterations)
        if chosen:
            recorder.count(step, inputs, self._spec["environmentRoots"])
        self.stage = "report"
        recording = recorder.finish()
        self._channel.send(
            {
                "type": "recording",
                "batchSize": size,
                "bytes": len(recording),
                "check": check,
                "warmupNs": warmup_ns,
            }
        )
        self._channel.send_bytes(recording)
        self.batch_size = None
        return sampled

    def _is_large(self, inputs: tuple[Any, ...]) -> bool:
        """Whether the inputs alone take so much that the step may not fit, and would take long to find out."""
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors_in(inputs))
        return size > _LARGE_INPUTS * self._limit_bytes() > 0

    def _warm_up(
        self, step: Callable[..., Any], inputs: tuple[Any, ...], after_each: Callable[[], None], *, first: bool
    ) -> list[int]:
        """`first`: nothing of the step has run yet. Later ones have only their own kernels and blocks to find."""
        times: list[int] = []
        deadline = perf_counter() + (_WARMUP_SECONDS if first else _LATER_WARMUP_SECONDS)
        least = 2 if first else 1
        while not timing.is_warm(times, least=least + 1):
            self._device.synchronise()
            start = perf_counter_ns()
            step(*inputs)
            self._device.synchronise()
            times.append(perf_counter_ns() - start)
            after_each()
            is_slow = min(times) > _SLOW_SECONDS * 1e9 or perf_counter() > deadline
            if len(times) >= _MAX_WARMUP or (len(times) >= least and is_slow):
                break
        return times

    def _time(self, entry: EntryPoint, step: Callable[..., Any], sampled: list[Sampled]) -> None:
        """Times the bare step at every batch size, in turns, until the medians are known or the time is spent.

        The first batch size is the user's: when its step fails now, after so much was measured, the timing ends and
        what is known is reported, with a warning.
        """
        chosen = sampled[0]
        inputs: dict[int, tuple[Any, ...]] = {}
        gc.collect()
        budget = self._budget_seconds
        deadline = perf_counter() + budget
        choices = _Choices(self._channel, [s.batch_size for s in sampled if not s.check], _ROUND_SECONDS)
        for cycle in itertools.count():
            for s in _due(sampled, cycle):
                self.batch_size = s.batch_size
                try:
                    if s.batch_size not in inputs:
                        self.stage = "input"
                        inputs[s.batch_size] = entry.inputs(s.batch_size)
                    self.stage = "iteration"
                    self._time_round(step, inputs[s.batch_size], s)
                except ChannelClosed:
                    raise
                except BaseException as error:  # noqa: BLE001 - SystemExit included
                    if s is chosen:
                        self._end_timing(error, chosen)
                        return
                    self._skip(error, s.batch_size)
                    sampled = [other for other in sampled if other is not s]
            self._clock.look()
            self._device.look()
            spent = 1 - (deadline - perf_counter()) / budget
            self._progress("time", 0.5 + 0.5 * min(1.0, spent), "Timing the bare step")
            if not all(s.enough_rounds for s in sampled):
                continue
            more = choices.next(sampled, self._skipped, self._largest_affordable(sampled), deadline - perf_counter())
            if more:
                sampled = sampled + self._warm(entry, step, more, inputs)
            elif perf_counter() > deadline or all(s.is_known for s in sampled):
                break
        self.batch_size = None

    def _warm(
        self, entry: EntryPoint, step: Callable[..., Any], sizes: list[int], inputs: dict[int, tuple[Any, ...]]
    ) -> list[Sampled]:
        """Batch sizes that are only to be timed: their inputs, and the step warm. One that fails is skipped."""
        warm = []
        for size in sizes:
            self.batch_size = size
            try:
                self.stage = "input"
                inputs[size] = entry.inputs(size)
                self.stage = "iteration"
                times_ns = self._warm_up(step, inputs[size], lambda: None, first=False)
            except ChannelClosed:
                raise
            except BaseException as error:  # noqa: BLE001 - SystemExit included
                inputs.pop(size, None)
                self._skip(error, size)
            else:
                self._channel.send({"type": "warmed", "batchSize": size, "warmupNs": times_ns})
                warm.append(Sampled(size, False, times_ns, self._round_seconds(times_ns)))
        return warm

    def _unused_gradients(
        self, unused: UnusedGradients, entry: EntryPoint, step: Callable[..., Any], size: int
    ) -> list[dict[str, Any]]:
        """None when the step does not run any more: the warning about that is there."""
        try:
            return unused.find(lambda: step(*entry.inputs(size)))[:_MOST_UNUSED]
        except ChannelClosed:
            raise
        except BaseException:  # noqa: BLE001 - SystemExit included
            return []

    def _end_timing(self, error: BaseException, chosen: Sampled) -> None:
        """The step fails while it is timed. The daemon takes a batch size without times by its last warm-ups."""
        count = chosen.iterations or len(chosen.warmup_ns[-2:])
        self._warnings.append(
            f"The step failed while it was timed: {summary(error)}. The iteration time is of "
            f"{count} {'iteration' if count == 1 else 'iterations'} before that."
        )
        self.batch_size = None

    def _time_round(self, step: Callable[..., Any], inputs: tuple[Any, ...], sampled: Sampled) -> None:
        """Some iterations in a row. A short step runs once untimed first: the other batch sizes cooled the caches."""
        if sampled.per_round > 1:
            step(*inputs)
        times = []
        synchronise = self._device.synchronise
        synchronise()
        for _ in range(sampled.per_round):
            start = perf_counter_ns()
            step(*inputs)
            synchronise()
            times.append(perf_counter_ns() - start)
        sampled.iterations += len(times)
        sampled.round_medians_ns.append(timing.median(times))
        self._channel.send({"type": "timed", "batchSize": sampled.batch_size, "timesNs": times})

    def _skip(self, error: BaseException, size: int) -> None:
        """A batch size that did not run, while another did, is an observation."""
        described = describe(error, self.stage, size, advise=False)
        self._channel.send({**described, "type": "skipped"})
        self._skipped.append(size)
        release(error)
        gc.collect()
        self._device.forget_cached()

    def _progress(self, stage: str, fraction: float, message: str) -> None:
        self.stage = stage
        self._channel.send({"type": "progress", "stage": stage, "fraction": fraction, "message": message})


class _Choices:
    """Asks the daemon, whose model it is, for batch sizes to time beside the first ones."""

    def __init__(self, channel: Channel, first: list[int], round_seconds: float) -> None:
        self._channel = channel
        self._first = first
        self._round_seconds = round_seconds
        self._ended = False

    def next(self, sampled: list[Sampled], skipped: list[int], largest: int, seconds_left: float) -> list[int]:
        """None once there was no answer, the answer was none, or the time is spent."""
        if self._ended or seconds_left <= 0:
            return []
        tried = {s.batch_size for s in sampled} | set(skipped)
        answer = self._channel.ask(
            {
                "type": "choose",
                "secondsLeft": seconds_left,
                "roundSeconds": self._round_seconds,
                "largestAffordable": largest,
                "first": self._first,
                "excluded": sorted(tried - {s.batch_size for s in sampled if not s.check}),
                "samples": [
                    {"batchSize": s.batch_size, "roundMediansNs": s.round_medians_ns[-_MAX_SENT:]}
                    for s in sampled
                    if not s.check
                ],
            },
            _ANSWER_SECONDS,
        )
        sizes = answer.get("batchSizes") if isinstance(answer, dict) else None
        good = isinstance(sizes, list) and all(
            type(size) is int and 1 <= size <= largest and size not in tried for size in sizes
        )
        self._ended = not good or not sizes
        return [] if self._ended else list(dict.fromkeys(sizes))


def _due(sampled: list[Sampled], cycle: int) -> list[Sampled]:
    """The batch sizes of a turn: all at times, else those that have too few rounds, else those that are not known."""
    if cycle % _ALL_EVERY == 0:
        return sampled
    return [s for s in sampled if not s.enough_rounds] or [s for s in sampled if not s.is_known]


def _peak_resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _recorded_iterations(sampled: Sampled, budget_seconds: float, *, chosen: bool) -> int:
    """The chosen batch size gives the figures of every line, the others tell which of them grow."""
    seconds = min(_RECORDED_SECONDS, _RECORDED_SHARE * budget_seconds)
    least, most = _MIN_RECORDED, _MAX_RECORDED
    if sampled.estimate_ns > _SLOW_SECONDS * 1e9:
        least = _SLOW_RECORDED
    if not chosen:
        seconds, least, most = _OTHERS_RECORDED_SHARE * seconds, 1, _OTHERS_MAX_RECORDED
    return min(most, max(least, math.ceil(seconds * 1e9 / sampled.estimate_ns)))


def batch_size_candidates(chosen: int) -> list[int]:
    """Other batch sizes to try, until there are enough: half, twice, then what lies between and below."""
    sizes = [chosen // 2, chosen * 2, chosen * 3 // 2, chosen * 3 // 4, chosen // 4, chosen + 1, chosen + 2, chosen * 4]
    unique = dict.fromkeys(size for size in sizes if size >= 1 and size != chosen)
    return list(unique)


def extra_batch_sizes(chosen: int) -> list[int]:
    """Batch sizes that widen what the models are fitted to, for a step that is fast enough."""
    return [size for size in (chosen // 4, chosen * 3, chosen * 3 // 2) if size >= 1]


def quick_batch_sizes(chosen: int) -> list[int]:
    """Batch sizes that show how memory grows farther away, for a step that takes next to no time."""
    return [size for size in (chosen // 8, chosen * 6) if size >= 1]
