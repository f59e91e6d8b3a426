"""The operations of the profiled step, listed once more after everything was measured."""

from __future__ import annotations

from time import perf_counter  # before user code can replace it
from typing import Any

from ridgeline_runner import operation_log
from ridgeline_runner.channel import ChannelClosed
from ridgeline_runner.failure import reason_of, release
from ridgeline_runner.reporter import Reporter
from ridgeline_runner.training_step import TrainingStep

_LEAST_SECONDS = 10.0
_TIMES_AN_ITERATION = 3  # dispatching from Python is slow


class _TakesTooLong(Exception):
    """The step has many small operations."""


def send_operations(step: TrainingStep, batch_size: int, iteration_seconds: float, reporter: Reporter) -> None:
    """Runs one iteration. It computes everything, so that what the step writes is what it always writes. What it raises
    is the reason why there is no list."""
    seconds = _LEAST_SECONDS + _TIMES_AN_ITERATION * iteration_seconds
    message: dict[str, Any] = {"type": "stepListed"}
    try:
        message["operations"] = _list(step, batch_size, perf_counter() + seconds).message()
    except ChannelClosed:
        raise
    except _TakesTooLong:
        message["reason"] = f"listing them takes longer than {seconds:.0f} s"
    except BaseException as error:  # noqa: BLE001 - SystemExit included
        message["reason"] = reason_of(error)
        release(error)
    reporter.channel.send(message)


def _list(step: TrainingStep, batch_size: int, end: float) -> operation_log.OperationLog:
    inputs = step.inputs(batch_size)

    def check() -> None:
        if perf_counter() > end:
            raise _TakesTooLong

    return operation_log.log_warm_step(lambda: step.function(*inputs), check)
