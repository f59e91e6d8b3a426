"""The user's training step: its inputs at a batch size, and iterations of it, bare."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, perf_counter_ns  # before user code can replace them
from typing import Any

from ridgeline_runner.common import timing
from ridgeline_runner.common.deadline import Deadline
from ridgeline_runner.common.dynamo import Compilations
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.step.entry import EntryPoint

SLOW_SECONDS = 0.25  # a slower step is run as few times as possible
_MAX_WARMUP = 20
_WARMUP_SECONDS, _LATER_WARMUP_SECONDS = 5.0, 1.0


class TrainingStep:
    """`function(*inputs)` runs one iteration, on `device`. Whatever user code raises passes through."""

    def __init__(self, entry: EntryPoint, function: Callable[..., Any], device: Device) -> None:
        self.entry = entry
        self.function = function
        self.device = device
        self.unsettled_steps = 0  # of the longest warm-up that ended although torch.compile still compiled

    def inputs(self, batch_size: int) -> tuple[Any, ...]:
        return self.entry.inputs(batch_size)

    def warm_up(
        self,
        inputs: tuple[Any, ...],
        *,
        first: bool,
        after_each: Callable[[], None] = lambda: None,
        run_deadline: Deadline | None = None,
    ) -> list[int]:
        """Runs the step until it has settled and torch.compile compiles no more; the times of the iterations in
        nanoseconds.

        `first`: nothing of the step has run yet. Later batch sizes have only kernels and blocks of their own to find.
        Ends earlier where `run_deadline` has no time for another iteration and for what has to follow: one that is
        recorded and one that is timed.
        """
        times: list[int] = []
        deadline = perf_counter() + (_WARMUP_SECONDS if first else _LATER_WARMUP_SECONDS)
        least = 2 if first else 1
        compilations = Compilations()
        has_compiled = False
        while not (timing.is_warm(times, least=least + 1) and compilations.has_settled):
            self.device.synchronise()
            times += self.times(inputs, 1)
            has_compiled, _ = compilations.step_ended()
            deadline += times[-1] / 1e9 if has_compiled else 0
            after_each()
            is_slow = min(times) > SLOW_SECONDS * 1e9 or perf_counter() > deadline
            if len(times) >= _MAX_WARMUP or (len(times) >= least and is_slow and not has_compiled):
                break
            if run_deadline is not None and not run_deadline.allows(3 * times[-1] / 1e9):
                break
        if not compilations.has_settled and (has_compiled or len(times) >= _MAX_WARMUP):
            self.unsettled_steps = max(self.unsettled_steps, len(times))
        return times

    def times(self, inputs: tuple[Any, ...], count: int) -> list[int]:
        """Nanoseconds of each of `count` iterations in a row. The device must be idle."""
        times = []
        function, synchronise = self.function, self.device.synchronise
        for _ in range(count):
            start = perf_counter_ns()
            function(*inputs)
            synchronise()
            times.append(perf_counter_ns() - start)
        return times


def warm_up(times: Callable[[int], list[int]], least: int, most: int) -> tuple[list[int], bool]:
    """Runs a step, of which `times` runs so many iterations, in a process of its own or after a change: until it has
    settled, and for as long as torch.compile compiles. The times in nanoseconds, and whether torch.compile has
    settled."""
    compilations = Compilations()
    times_ns: list[int] = []
    while len(times_ns) < least or not compilations.has_settled or not timing.is_warm(times_ns):
        if len(times_ns) >= (most if compilations.has_settled else max(most, _MAX_WARMUP)):
            break
        times_ns += times(1)
        compilations.step_ended()
    return times_ns, compilations.has_settled
