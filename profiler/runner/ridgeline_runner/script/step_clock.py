"""The time of the step that goes on, and how much of it lies outside of its backward passes."""

from __future__ import annotations

from time import perf_counter_ns  # before user code can replace it

from ridgeline_runner.machine.processors import RunDelay


class StepClock:
    """In nanoseconds of perf_counter_ns. To be used on the thread that is followed."""

    def __init__(self) -> None:
        self.began = 0
        self._run_delay = RunDelay()
        self._delay_began = 0  # of the thread, when the step began
        self._first_backward = self._backward_ended = 0  # when the first began, and the last ended

    def step_begins(self) -> None:
        self._first_backward = self._backward_ended = 0
        self._delay_began = self._run_delay.ns()
        self.began = perf_counter_ns()

    def backward_begins(self) -> None:
        self._first_backward = self._first_backward or perf_counter_ns()

    def backward_has_ended(self) -> None:
        self._backward_ended = perf_counter_ns()

    def outside_ns(self, took_ns: int) -> int:
        """Of a step that took so long: before the first backward pass and after the last one, without the time in which
        the thread waited for a processor."""
        waited = self._run_delay.ns() - self._delay_began
        outside = took_ns - max(0, self._backward_ended - max(self._first_backward, self.began))
        return max(0, outside - waited)
