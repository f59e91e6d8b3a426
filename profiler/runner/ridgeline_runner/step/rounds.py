"""The timed part of a run: the bare step at every batch size, in turns, with nothing of ours attached.

All in this process, or, where the step gets memory from the kernel in every iteration, each turn in a process of its
own: what other batch sizes have left free would save it that time.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from time import perf_counter  # before user code can replace it
from typing import Any

from ridgeline_runner.common import timing
from ridgeline_runner.common.channel import ChannelClosed
from ridgeline_runner.common.deadline import Deadline
from ridgeline_runner.common.failure import summary
from ridgeline_runner.machine.processors import ProcessorWatch, with_share
from ridgeline_runner.step.batch_sizes import Budget, Choices
from ridgeline_runner.step.fresh_process import FreshProcesses, ProcessFailed
from ridgeline_runner.step.reporter import Reporter
from ridgeline_runner.step.samples import MIN_ROUNDS, Sampled, are_timed_apart, due, round_seconds
from ridgeline_runner.step.training_step import TrainingStep

_ROUNDS_OF_PROCESS = MIN_ROUNDS // 2  # two processes for each batch size show what differs from one to the next
_PROCESSES_OF_CHOSEN = 3  # so that one disturbed round does not widen the interval
_WARMUP_OF_PROCESS = 5  # iterations, about
_EXTRA_SHARE = 0.5  # of the time, for batch sizes that something disturbed


class Rounds:
    """Times a step until the medians are known or the time is spent. The daemon is sent each round."""

    def __init__(
        self,
        step: TrainingStep,
        reporter: Reporter,
        budget: Budget,
        processors: ProcessorWatch,
        run_deadline: Deadline,
        processes: FreshProcesses,
        load_seconds: float,
    ) -> None:
        """`load_seconds`: what the entry file and its providers took."""
        self._step = step
        self._reporter = reporter
        self._budget = budget
        self._processors = processors
        self._run_deadline = run_deadline
        self._processes = processes
        self._load_seconds = load_seconds
        self._apart = False  # each turn in a process of its own
        self._rounds_of_process = MIN_ROUNDS
        self._most_fetching: Sampled  # of steps that are timed apart
        self._inputs: dict[int, tuple[Any, ...]] = {}

    def run(self, sampled: list[Sampled], after_each: Callable[[], None] = lambda: None) -> None:
        """Adds to each of `sampled` what was timed, and times those that the daemon chooses, too. `after_each` is
        called when all of them had a turn.

        The first batch size is the user's: when its step fails now, after so much was measured, the timing ends and
        the measurements so far are reported, with a warning. Another one that fails is skipped.
        """
        gc.collect()
        self._decide(sampled)
        reporter = self._reporter
        deadline = perf_counter() + self._budget.seconds
        choices = Choices(reporter.channel, [s.batch_size for s in sampled if not s.check])
        chosen = sampled[0]
        for cycle in itertools.count():
            is_over = perf_counter() > deadline and all(s.enough_rounds for s in sampled)
            for s in due(sampled, cycle, is_over=is_over):
                if s.iterations and not self._run_deadline.allows(self._turn_seconds(s)):
                    continue  # it has the least that it needs
                try:
                    self._time(s)
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
            after_each()
            seconds_left = deadline - perf_counter()
            spent = 1 - seconds_left / self._budget.seconds
            reporter.progress("time", 0.5 + 0.45 * min(spent, rounds_done(sampled)), "Timing the bare step")
            if not self._run_deadline.allows(self._turn_seconds(chosen)):
                break
            if not all(s.enough_rounds for s in sampled):
                continue
            largest = self._budget.largest(sampled, reporter.skipped)
            more = choices.next(sampled, reporter.skipped, largest, deadline - perf_counter())
            if more:
                sampled = sampled + self._warm(more, sampled)
            elif all(s.is_known for s in sampled) or not self._goes_on(sampled, deadline):
                break
        reporter.batch_size = None

    def _goes_on(self, sampled: list[Sampled], deadline: float) -> bool:
        """Until the time is over, and half as long again while something disturbed a batch size: it is timed again."""
        is_disturbed = any(s.is_disturbed for s in sampled)
        return perf_counter() < deadline + (_EXTRA_SHARE * self._budget.seconds if is_disturbed else 0)

    def _decide(self, sampled: list[Sampled]) -> None:
        """Whether each turn is to have a process of its own, and how many rounds are timed there."""
        self._apart = False
        if not self._step.device.is_host or not are_timed_apart(sampled):
            return
        self._most_fetching = most = max(sampled, key=lambda s: s.fetching_share)
        if self._load_seconds > self._budget.seconds:
            self._stay(most, f"loading the entry file took {self._load_seconds:.0f} s, more than the time budget")
        elif not self._budget.has_memory_twice():
            self._stay(most, "there is not enough memory for two processes")
        else:
            self._apart = True
            if self._load_seconds < MIN_ROUNDS * sampled[0].estimate_ns / 1e9:
                self._rounds_of_process = _ROUNDS_OF_PROCESS
                sampled[0].least_rounds = _PROCESSES_OF_CHOSEN * _ROUNDS_OF_PROCESS

    def _stay(self, sampled: Sampled, reason: str) -> None:
        """Why steps are not timed apart after all: `sampled` is the batch size that spends most on its memory."""
        self._apart = False
        self._reporter.warnings.append(
            f"The step gets memory from the system in every iteration: {min(1, sampled.fetching_share):.0%} of its "
            f"time or more at batch size {sampled.batch_size}. It was timed in a process that keeps memory which other "
            f"batch sizes used, and can take that much longer in a process that runs one batch size only: {reason}. "
            f"To time it alone, profile with --batch-sizes {sampled.batch_size}."
        )

    def _turn_seconds(self, sampled: Sampled) -> float:
        """What a turn of a batch size takes."""
        if not self._apart:
            return sampled.round_estimate_seconds
        iterations = _WARMUP_OF_PROCESS + self._rounds_of_process * sampled.per_round
        return self._load_seconds + iterations * sampled.estimate_ns / 1e9

    def _time(self, sampled: Sampled) -> None:
        if self._apart and self._run_deadline.allows(self._turn_seconds(sampled)):
            measured = self._measured_apart(sampled)
            if measured:
                self._add(sampled, measured)
                return
        self._time_round(sampled)

    def _measured_apart(self, sampled: Sampled) -> dict[str, Any] | None:
        """What another process measured, as time_rounds() has it; None where it failed: then there is no other one."""
        request = {
            "batchSize": sampled.batch_size,
            "rounds": self._rounds_of_process,
            "perRound": sampled.iterations_per_round,  # known from the first round on
        }
        try:
            return self._processes.run(request, self._turn_seconds(sampled))
        except ProcessFailed as problem:
            self._stay(
                self._most_fetching, f"a process of its own for batch size {sampled.batch_size} failed: {problem}"
            )
            return None

    def _add(self, sampled: Sampled, measured: dict[str, Any]) -> None:
        if not measured["hasSettled"]:
            self._step.unsettled_steps = max(self._step.unsettled_steps, len(measured["warmupNs"]))
        for times_ns, share in zip(measured["roundsNs"], measured["processorShares"], strict=True):
            self._add_round(sampled, times_ns, share)

    def _add_round(self, sampled: Sampled, times_ns: list[int], processor_share: float) -> None:
        sampled.iterations += len(times_ns)
        sampled.round_medians_ns.append(timing.median(times_ns))
        sampled.processor_shares.append(processor_share)
        self._reporter.channel.send({"type": "timed", "batchSize": sampled.batch_size, "timesNs": times_ns})

    def _time_round(self, sampled: Sampled) -> None:
        """Some iterations in a row, after an untimed one: the other batch sizes cooled the caches, and left blocks of
        other sizes free, so that the first iteration gets its memory from the kernel anew."""
        inputs = self._prepare(sampled.batch_size)
        self._reporter.stage = "iteration"
        self._step.function(*inputs)
        self._step.device.synchronise()
        self._add_round(sampled, *with_share(lambda: self._step.times(inputs, sampled.per_round)))

    def _warm(self, sizes: list[int], sampled: list[Sampled]) -> list[Sampled]:
        """Batch sizes that are only to be timed: their inputs, and the step warm. One that fails is skipped."""
        warm = []
        for size in sizes:
            if self._apart:
                expected = Sampled(size, False, [round(self._budget.estimate_ns(size, sampled))])
                measured = self._measured_apart(expected)
                if measured:
                    warm.append(self._warmed(size, measured["warmupNs"]))
                    self._add(warm[-1], measured)
                    continue
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
                warm.append(self._warmed(size, times_ns))
        return warm

    def _warmed(self, size: int, warmup_ns: list[int]) -> Sampled:
        self._reporter.channel.send({"type": "warmed", "batchSize": size, "warmupNs": warmup_ns})
        return Sampled(size, False, warmup_ns, round_seconds(warmup_ns, self._budget.seconds))

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
