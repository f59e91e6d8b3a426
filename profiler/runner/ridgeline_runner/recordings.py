"""The recorded part of a run: the user's batch size, then others for the models, each sent to the daemon at once."""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline_runner import batch_sizes
from ridgeline_runner.batch_sizes import Budget
from ridgeline_runner.channel import ChannelClosed
from ridgeline_runner.failure import kind_of, summary
from ridgeline_runner.fitting import MemoryFit
from ridgeline_runner.recorder import Recorder, Stage
from ridgeline_runner.reporter import Reporter
from ridgeline_runner.samples import WANTED_SIZES, Sampled, recorded_iterations, round_seconds
from ridgeline_runner.training_step import TrainingStep

_MOST_SIZES = 5
_LARGE = 4096  # samples: so many are not run before small batch sizes have shown that they fit


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
        environment_roots: list[str],
    ) -> None:
        self._recorder = recorder
        self._step = step
        self._reporter = reporter
        self._fit = fit
        self._budget = budget
        self._environment_roots = environment_roots

    def record_chosen(self) -> Sampled:
        """The user's own batch size; when it does not fit, one of its halves: the first that is predicted to fit, or
        the first that does. Raises what the step raises."""
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
                reporter.skip(error, size, self._step.device)
                self._recorder.forget_attempt()
                size = self._smaller(size)
            else:
                if size != wanted:
                    reporter.warnings.append(
                        f"Batch size {wanted} does not fit: {reason}{self._fit.describe(wanted)}. "
                        f"These figures are of batch size {size}."
                    )
                return sampled

    def record_others(self, chosen: Sampled, requested: Sequence[int], checks: Sequence[int]) -> list[Sampled]:
        """The chosen batch size and others: those that were requested, or enough for the models and, where the step is
        fast, some more; then `checks`, which only check the models. One that fails is skipped."""
        sampled = [chosen]
        reporter, budget = self._reporter, self._budget
        tried = {chosen.batch_size, *reporter.skipped}

        def attempt(size: int, *, check: bool = False, quick: bool = False) -> None:
            if size in tried:
                return
            tried.add(size)
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
        return sampled

    def _record(self, size: int, *, chosen: bool = False, check: bool = False, quick: bool = False) -> Sampled:
        recorder, step, reporter = self._recorder, self._step, self._reporter
        reporter.batch_size = size
        inputs = self._inputs(size)
        reporter.stage = "iteration"
        recorder.stage(Stage.ITERATION)
        warmup_ns = step.warm_up(inputs, first=chosen, after_each=recorder.forget_freed)
        sampled = Sampled(size, check, warmup_ns, round_seconds(warmup_ns, self._budget.seconds))
        iterations = 1 if quick or check else recorded_iterations(sampled, self._budget.seconds, chosen=chosen)
        recorder.record(step.function, inputs, iterations)
        if chosen:
            recorder.count(step.function, inputs, self._environment_roots)
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
