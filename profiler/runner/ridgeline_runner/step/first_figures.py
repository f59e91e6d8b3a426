"""The user's batch size is shown before the others are measured, where a run takes long."""

from __future__ import annotations

from time import perf_counter  # before user code can replace it

from ridgeline_runner.machine.processors import ProcessorWatch
from ridgeline_runner.step.fresh_process import FreshProcesses
from ridgeline_runner.step.reporter import Reporter
from ridgeline_runner.step.result import Result

_AFTER_SECONDS = 1.5
_ANSWER_SECONDS = 5.0  # that the daemon may take to analyse what it has


class FirstFigures:
    """Offered to the daemon once. It analyses them while nothing here runs: that would take processors from the step
    that is timed."""

    def __init__(
        self,
        reporter: Reporter,
        result: Result,
        processors: ProcessorWatch,
        processes: FreshProcesses,
        began: float,
        *,
        wanted: bool,
    ) -> None:
        """`began`: when the run did, as perf_counter() has it."""
        self._reporter = reporter
        self._result = result
        self._processors = processors
        self._processes = processes
        self._after = began + _AFTER_SECONDS
        self._wanted = wanted

    def offer(self) -> None:
        """To be called between two measurements, once the user's batch size is recorded."""
        if not self._wanted or perf_counter() < self._after:
            return
        self._wanted = False
        self._processors.end(self._processes.processor_seconds)
        self._result.send(final=False)
        self._reporter.channel.ask({"type": "firstFigures"}, _ANSWER_SECONDS)
