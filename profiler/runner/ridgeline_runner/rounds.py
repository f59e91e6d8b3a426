"""The timed part of a run: the bare step at every batch size, in turns, with nothing of ours attached."""

from __future__ import annotations

import gc
import itertools
from time import perf_counter  # before user code can replace it
from typing import Any

from ridgeline_runner import timing
from ridgeline_runner.batch_sizes import Budget, Choices
from ridgeline_runner.channel import ChannelClosed
from ridgeline_runner.deadline import Deadline
from ridgeline_runner.failure import summary
from ridgeline_runner.processors import ProcessorWatch
from ridgeline_runner.reporter import Reporter
from ridgeline_runner.samples import MIN_ROUNDS, Sampled, due, round_seconds
from ridgeline_runner.training_step import TrainingStep


class Rounds:
    """Times a step until the medians are known or the time is spent. The daemon is sent each round."""

    def __init__(
        self, step: TrainingStep, reporter: Reporter, budget: Budget, processors: ProcessorWatch, run_deadline: Deadline
    ) -> None:
        self._step = step
        self._reporter = reporter
        self._budget = budget
        self._processors = processors
        self._run_deadline = run_deadline
        self._inputs: dict[int, tuple[Any, ...]] = {}

    def run(self, sampled: list[Sampled]) -> None:
        """Adds to each of `sampled` what was timed, and times those that the daemon chooses, too.

        The first batch size is the user's: when its step fails now, after so much was measured, the timing ends and
        the measurements so far are reported, with a warning. Another one that fails is skipped.
        """
        gc.collect()
        reporter = self._reporter
        deadline = perf_counter() + self._budget.seconds
        choices = Choices(reporter.channel, [s.batch_size for s in sampled if not s.check])
        chosen = sampled[0]
        for cycle in itertools.count():
            for s in due(sampled, cycle):
                if s.iterations and not self._run_deadline.allows(s.round_estimate_seconds):
                    continue  # it has the least that it needs
                try:
                    self._time_round(s)
                except ChannelClosed:
                    raise
                except BaseException as error:  # noqa: BLE001 - SystemExit included
                    if s is chosen:
                        self._end(error, chosen)
                        return
                    reporter.skip(error, s.batch_size, self._step.device)
                    sampled = [other for other in sampled if other is not s]
            self._processors.sample()
            self._step.device.sample()
            seconds_left = deadline - perf_counter()
            spent = 1 - seconds_left / self._budget.seconds
            reporter.progress("time", 0.5 + 0.45 * min(spent, rounds_done(sampled)), "Timing the bare step")
            if not self._run_deadline.allows(chosen.round_estimate_seconds):
                break
            if not all(s.enough_rounds for s in sampled):
                continue
            largest = self._budget.largest(sampled, reporter.skipped)
            more = choices.next(sampled, reporter.skipped, largest, deadline - perf_counter())
            if more:
                sampled = sampled + self._warm(more)
            elif perf_counter() > deadline or all(s.is_known for s in sampled):
                break
        reporter.batch_size = None

    def _time_round(self, sampled: Sampled) -> None:
        """Some iterations in a row, after an untimed one: the other batch sizes cooled the caches, and left blocks of
        other sizes free, so that the first iteration gets its memory from the kernel anew."""
        inputs = self._prepare(sampled.batch_size)
        self._reporter.stage = "iteration"
        self._step.function(*inputs)
        self._step.device.synchronise()
        times = self._step.times(inputs, sampled.per_round)
        sampled.iterations += len(times)
        sampled.round_medians_ns.append(timing.median(times))
        self._reporter.channel.send({"type": "timed", "batchSize": sampled.batch_size, "timesNs": times})

    def _warm(self, sizes: list[int]) -> list[Sampled]:
        """Batch sizes that are only to be timed: their inputs, and the step warm. One that fails is skipped."""
        warm = []
        for size in sizes:
            try:
                inputs = self._prepare(size)
                self._reporter.stage = "iteration"
                times_ns = self._step.warm_up(inputs, first=False)
            except ChannelClosed:
                raise
            except BaseException as error:  # noqa: BLE001 - SystemExit included
                self._inputs.pop(size, None)
                self._reporter.skip(error, size, self._step.device)
            else:
                self._reporter.channel.send({"type": "warmed", "batchSize": size, "warmupNs": times_ns})
                warm.append(Sampled(size, False, times_ns, round_seconds(times_ns, self._budget.seconds)))
        return warm

    def _prepare(self, size: int) -> tuple[Any, ...]:
        """The inputs at a batch size, made once."""
        self._reporter.batch_size = size
        if size not in self._inputs:
            self._reporter.stage = "input"
            self._inputs[size] = self._step.inputs(size)
        return self._inputs[size]

    def _end(self, error: BaseException, chosen: Sampled) -> None:
        """The step failed while it was timed. The daemon takes a batch size without times by its last warm-ups."""
        count = chosen.iterations or len(chosen.warmup_ns[-2:])
        self._reporter.warnings.append(
            f"The step failed while it was timed: {summary(error)}. The iteration time is of "
            f"{count} {'iteration' if count == 1 else 'iterations'} before that."
        )
        self._reporter.batch_size = None


def rounds_done(sampled: list[Sampled]) -> float:
    """The share of the rounds that the run has to wait for, however long they take: the time may be spent before."""
    return sum(min(len(s.round_medians_ns), MIN_ROUNDS) for s in sampled) / (MIN_ROUNDS * len(sampled))
