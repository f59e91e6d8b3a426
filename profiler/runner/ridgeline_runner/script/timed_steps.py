"""The steps of a script that are timed, with nothing attached: in rounds, each sent at once."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from time import perf_counter  # before user code can replace it
from typing import Any

from ridgeline_runner.common import timing
from ridgeline_runner.common.channel import Channel
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.machine.energy import Counters, StepsMeter
from ridgeline_runner.machine.processors import ProcessorWatch
from ridgeline_runner.script.whole_time import OTHER_RUNS, WholeTime, is_like_recorded
from ridgeline_runner.step.samples import Sampled

_CYCLE_SECONDS = 3.0  # of timing, at most, until what lies between steps was seen often enough


def is_rank() -> bool:
    """Whether this is one rank of a job of several processes, which share the machine's counters."""
    return os.environ.get("WORLD_SIZE", "1") != "1"


class TimedSteps:
    def __init__(
        self,
        sampled: Sampled,
        channel: Channel,
        device: Device,
        processors: ProcessorWatch,
        recorded_runs: Collection[int],
        budget_seconds: float,
    ) -> None:
        """`recorded_runs`: how often the recorded steps ran closures of optimizers. Timing begins now."""
        self._sampled = sampled
        self._channel = channel
        self._device = device
        self._processors = processors
        self._recorded_runs = recorded_runs
        self._budget_seconds = budget_seconds
        self._began = perf_counter()
        self._deadline = self._began + budget_seconds
        self._whole = WholeTime()
        self._round: list[int] = []
        self._processors.begin()
        self._counters = Counters() if is_rank() else device.energy_counters()
        self._counts_energy = bool(self._counters.found)
        self._meter = StepsMeter(self._counters)
        self._meter.begin()

    def step_ended(
        self, took_ns: int, outside_ns: int, closure_runs: int, happened: dict[str, int]
    ) -> dict[str, int] | None:
        """What the step contained, where that is why it does not count; None: it counts. A step that is long for
        another reason does: the median holds nevertheless."""
        self._whole.step_ended(took_ns, outside_ns, happened)
        if not happened and not is_like_recorded(closure_runs, self._recorded_runs):
            happened = {OTHER_RUNS: took_ns}
        if not happened:
            self._round.append(took_ns)
        self._meter.step_ended(is_usual=not happened)
        return happened or None

    def are_enough(self, *, expects_cycle: bool) -> bool:
        """Whether no more steps need to be timed; sends the round if it is complete. `expects_cycle`: something was
        seen between the steps before these."""
        if len(self._round) < self._sampled.per_round:
            return perf_counter() > self._deadline + 4 * self._budget_seconds
        self._send_round()
        self._processors.sample()
        self._device.sample()
        over = perf_counter() > self._deadline
        is_early = perf_counter() - self._began < _CYCLE_SECONDS
        if is_early and not over and self._whole.awaits_cycle(is_expected=expects_cycle):
            return False
        return (over and self._sampled.enough_rounds) or self._sampled.is_known

    def _send_round(self) -> None:
        self._channel.send({"type": "timed", "batchSize": self._sampled.batch_size, "timesNs": self._round})
        self._sampled.round_medians_ns.append(timing.median(self._round))
        self._round = []

    def energy(self) -> tuple[dict[str, Any] | None, list[str]]:
        """The energy of the steps, where it was measured, and the problems of the counters. Pauses, to see what the
        machine takes idle."""
        measured = self._meter.result()
        return measured, self._counters.problems if self._counts_energy else []

    def whole(self, samples: Sequence[int]) -> dict[str, Any] | None:
        """As WholeTime.description()."""
        return self._whole.description(samples)
