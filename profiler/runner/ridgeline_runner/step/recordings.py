"""The recorded part of a run: the user's batch size, then others for the models, each sent to the daemon at once."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Sequence
from typing import Any

from ridgeline_runner.common.channel import ChannelClosed
from ridgeline_runner.common.deadline import Deadline
from ridgeline_runner.common.failure import Failure, kind_of, release, summary
from ridgeline_runner.common.out_of_memory import numbers
from ridgeline_runner.machine.page_faults import page_faults
from ridgeline_runner.step import batch_sizes
from ridgeline_runner.step.batch_sizes import Budget
from ridgeline_runner.step.fitting import MemoryFit
from ridgeline_runner.step.recorder import Recorder, Stage
from ridgeline_runner.step.reporter import Reporter
from ridgeline_runner.step.samples import WANTED_SIZES, Sampled, recorded_iterations, round_seconds
from ridgeline_runner.step.training_step import TrainingStep

_MOST_SIZES = 5
_COUNTING = 3  # iterations, timed ones included, that there has to be time for where the lines' runs are counted
_RECORDED_SHARE_OF_TIME_LEFT = 0.3
_LARGE = 4096  # samples: this many are not run before small batch sizes have shown that they fit


class Recordings:
    """Records a step at several batch sizes. The allocator is observed meanwhile."""

    def __init__(
        self,
        recorder: Recorder,
        step: TrainingStep,
        reporter: Reporter,
        *,
        fit: MemoryFit,
        budget: Budget,
        deadline: Deadline,
        environment_roots: list[str],
    ) -> None:
        self._recorder = recorder
        self._step = step
        self._reporter = reporter
        self._fit = fit
        self._budget = budget
        self._deadline = deadline
        self._environment_roots = environment_roots

    def record_chosen(self) -> Sampled:
        """The user's own batch size; when it does not fit, one of its halves: the first that is predicted to fit, or
        the first that does. Raises what the step raises, and Failure where one iteration takes so long that the run
        cannot end in time."""
        reporter = self._reporter
        wanted = size = self._step.entry.batch_size
        reason = ""
        while True:
            reporter.progress("record", 0.05, f"Recording batch size {size}")
            try:
                sampled = self._record(size, chosen=True)
            except Exception as error:
                if size == 1 or kind_of(error) != "out-of-memory":
                    raise
                reason = reason or summary(error)
                was_run = not isinstance(error, Failure)
                reporter.skip(error, size, self._step.device)
                self._recorder.forget_attempt()
            else:
                if size != wanted:
                    reporter.warnings.append(
                        f"Batch size {wanted} does not fit: {reason}{self._fit.describe(wanted)}. "
                        f"These figures are of batch size {size}."
                    )
                return sampled
            if size == wanted:
                self._send_out_of_memory(size, was_run=was_run)
            size = self._smaller(size)

    def record_others(
        self,
        chosen: Sampled,
        requested: Sequence[int],
        checks: Sequence[int],
        before_each: Callable[[], None] = lambda: None,
    ) -> list[Sampled]:
        """The chosen batch size and others: those that were requested, or enough for the models and, where the step is
        fast, some more; then `checks`, which only check the models. One that fails is skipped, and so is one that the
        run has no time for."""
        sampled = [chosen]
        reporter, budget = self._reporter, self._budget
        tried = {chosen.batch_size, *reporter.skipped}
        without_time: list[int] = []

        def attempt(size: int, *, check: bool = False, quick: bool = False) -> None:
            if size in tried:
                return
            if not self._has_time(size, sampled):
                without_time.append(size)
                return
            tried.add(size)
            before_each()
            done = min(1.0, len(sampled) / _MOST_SIZES)
            reporter.progress("record", 0.05 + 0.45 * done, f"Recording batch size {size}")
            try:
                sampled.append(self._record(size, check=check, quick=quick))
            except ChannelClosed:
                raise
            except BaseException as error:  # noqa: BLE001 - SystemExit included
                reporter.skip(error, size, self._step.device)

        slow = chosen.estimate_ns > budget.seconds * 1e9
        for size in requested or batch_sizes.candidates(chosen.batch_size, slow=slow):
            if requested or len(sampled) < WANTED_SIZES:
                attempt(size)
        for size in [] if requested or reporter.skipped else batch_sizes.extra(chosen.batch_size):
            if len(sampled) < _MOST_SIZES and budget.has_time(size, sampled):
                attempt(size)
        for size in [] if requested or reporter.skipped else batch_sizes.quick(chosen.batch_size):
            if budget.has_time(size, sampled, quick=True) and size <= budget.largest(sampled, reporter.skipped):
                attempt(size, quick=True)
        for size in checks:
            attempt(size, check=True)
        if without_time and (requested or len(sampled) < WANTED_SIZES):
            self._name_missing(sampled)
        return sampled

    def _has_time(self, size: int, sampled: Sequence[Sampled]) -> bool:
        """Whether the run can end in time with one more batch size: an iteration of it to warm up, one that is recorded
        and one that is timed, and one more of each of the others."""
        iteration = self._budget.estimate_ns(size, sampled) / 1e9
        return self._deadline.allows(3 * iteration + sum(s.estimate_ns for s in sampled) / 1e9)

    def _name_missing(self, sampled: Sequence[Sampled]) -> None:
        if len(sampled) > 1:
            known = " and ".join(str(s.batch_size) for s in sampled)
            self._deadline.leave_out(f"batch sizes other than {known}")
        else:
            self._deadline.leave_out(
                f"batch sizes other than {sampled[0].batch_size}, of which this profile knows nothing"
            )

    def _record(self, size: int, *, chosen: bool = False, check: bool = False, quick: bool = False) -> Sampled:
        recorder, step, reporter = self._recorder, self._step, self._reporter
        reporter.batch_size = size
        inputs = self._inputs(size)
        reporter.stage = "iteration"
        recorder.stage(Stage.ITERATION)
        warmup_ns = step.warm_up(inputs, first=chosen, after_each=recorder.forget_freed, run_deadline=self._deadline)
        sampled = Sampled(size, check, warmup_ns, round_seconds(warmup_ns, self._budget.seconds))
        iterations = 1 if quick or check else recorded_iterations(sampled, self._budget.seconds, chosen=chosen)
        if chosen:
            iterations = self._that_fit(sampled, iterations)
        faults = page_faults()
        recorder.record(step.function, inputs, iterations)
        sampled.page_faults = (page_faults() - faults) / iterations
        if chosen and self._deadline.allows(_COUNTING * sampled.estimate_ns / 1e9):
            recorder.count(step.function, inputs, self._environment_roots)
        elif chosen:
            self._deadline.leave_out("how often each line runs")
        reporter.stage = "report"
        recording = recorder.finish()
        reporter.channel.send(
            {
                "type": "recording",
                "batchSize": size,
                "bytes": len(recording),
                "check": check,
                "warmupNs": warmup_ns,
            }
        )
        reporter.channel.send_bytes(recording)
        reporter.batch_size = None
        return sampled

    def _send_out_of_memory(self, size: int, *, was_run: bool) -> None:
        """Runs a batch size that ran out of memory once more, recorded, so that the daemon can say what was allocated
        when the error came. Where it now has memory enough, or something else fails, nothing is sent."""
        recorder, step, reporter = self._recorder, self._step, self._reporter
        message: dict[str, Any] = {"type": "outOfMemory", "batchSize": size, "bytes": 0, "reservedBytes": 0}
        if not was_run:
            reporter.channel.send(message)
            return
        try:
            found = self._out_of_memory(size)
            if found is not None:
                recording = recorder.finish()
                reporter.channel.send({**message, "bytes": len(recording), **found})
                reporter.channel.send_bytes(recording)
        except ChannelClosed:
            raise
        except Exception as problem:  # noqa: BLE001 - of the inputs, or no memory for the recording
            release(problem)
        gc.collect()
        step.device.forget_cached()
        recorder.forget_attempt()

    def _out_of_memory(self, size: int) -> dict[str, int] | None:
        """Records the step up to the error; the numbers of that, which holds no memory any more. None: another one."""
        recorder, step = self._recorder, self._step
        recorder.stage(Stage.INPUT)
        inputs = step.inputs(size)
        recorder.stage(Stage.ITERATION)
        error = recorder.record_error(step.function, inputs)
        if error is None:
            return None
        is_it = kind_of(error) == "out-of-memory"
        found = {**numbers(error), "reservedBytes": step.device.reserved_bytes()}
        release(error)
        return found if is_it else None

    def _that_fit(self, chosen: Sampled, iterations: int) -> int:
        """How many of these iterations of the user's batch size the run has time to record."""
        seconds = chosen.estimate_ns / 1e9
        if not self._deadline.allows(seconds):
            raise Failure(
                "timeout",
                f"One iteration took {seconds:.1f} s. A profile needs three: to warm up, to record and to time; this "
                f"one had {self._deadline.seconds:g} s.",
            )
        most = _RECORDED_SHARE_OF_TIME_LEFT * self._deadline.left() / seconds
        return iterations if most >= iterations else max(1, math.floor(most))

    def _inputs(self, size: int) -> tuple[object, ...]:
        """The inputs at a batch size. Raises Failure where it is predicted not to fit, or the step cannot take them."""
        step = self._step
        self._reporter.stage = "input"
        step.device.forget_cached()  # else memory that another batch size left would count for this one
        self._recorder.stage(Stage.INPUT)
        if size >= _LARGE:
            self._search(size)
        self._fit.check(size)
        inputs = step.inputs(size)
        step.entry.check_arguments(step.function, inputs)
        if self._fit.should_search(inputs):
            del inputs
            self._search(size)
            self._fit.check(size)
            inputs = step.inputs(size)
        return inputs

    def _smaller(self, size: int) -> int:
        """The batch size to try after one that did not fit."""
        if size != self._step.entry.batch_size:
            return size // 2
        self._search(size)
        return self._fit.first_half(size)

    def _search(self, below: int) -> None:
        """Runs small batch sizes, unless they were run, to predict which ones fit."""
        if self._fit.has_searched:
            return
        self._reporter.progress("record", 0.05, f"Looking for the largest batch size below {below} that fits")
        self._fit.search(self._peak_of, below)
        self._recorder.forget_attempt()
        self._step.device.forget_cached()

    def _peak_of(self, size: int) -> int:
        """Runs a batch size; returns its peak in bytes."""
        recorder, step = self._recorder, self._step
        recorder.stage(Stage.INPUT)
        inputs = step.inputs(size)
        recorder.stage(Stage.ITERATION)
        for _ in range(2):  # the first creates the optimizer's state
            step.function(*inputs)
        step.device.synchronise()
        peak = recorder.peak_bytes()
        del inputs
        recorder.forget_attempt()
        return peak
