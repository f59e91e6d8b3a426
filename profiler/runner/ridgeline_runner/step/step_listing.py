"""The operations of the profiled step: listed once more after everything was measured, or, of a script, while it takes
a step of its own."""

from __future__ import annotations

import contextlib
import os
import threading
from time import perf_counter  # before user code can replace it
from typing import Any

from ridgeline_runner.common.channel import ChannelClosed
from ridgeline_runner.common.failure import reason_of, release
from ridgeline_runner.step import operation_log
from ridgeline_runner.step.reporter import Reporter
from ridgeline_runner.step.training_step import TrainingStep

_LEAST_SECONDS = 10.0
_TIMES_AN_ITERATION = 3  # dispatching from Python is slow


class _TakesTooLong(Exception):
    """The step has many small operations."""


def send_operations(step: TrainingStep, batch_size: int, iteration_seconds: float, reporter: Reporter) -> None:
    """Runs one iteration. It computes everything, so that what the step writes is what it always writes. What it raises
    is the reason why there is no list."""
    seconds = _LEAST_SECONDS + _TIMES_AN_ITERATION * iteration_seconds
    message: dict[str, Any] = {"type": "stepListed", "tf32": _allowed_in_tf32()}
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


def _allowed_in_tf32() -> list[str]:
    """Which operations on float32 torch may compute in TensorFloat-32: "products", "convolutions"."""
    import torch

    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    if hasattr(products, "fp32_precision"):  # from torch 2.9 on; the older names raise where this one was set
        allowed = (products.fp32_precision == "tf32", convolutions.conv.fp32_precision == "tf32")
    else:
        allowed = (products.allow_tf32, convolutions.allow_tf32)
    return [name for name, is_allowed in zip(("products", "convolutions"), allowed, strict=True) if is_allowed]


def _list(step: TrainingStep, batch_size: int, end: float) -> operation_log.OperationLog:
    inputs = step.inputs(batch_size)

    def check() -> None:
        if perf_counter() > end:
            raise _TakesTooLong

    return operation_log.log_warm_step(lambda: step.function(*inputs), check)


class OwnStep:
    """The operations of a step that a script takes by itself, between begin() and end() on one thread. Everything is
    computed as it always is, and nothing is raised into the script."""

    def __init__(self) -> None:
        self._log = operation_log.OperationLog()
        self._reason = ""
        self._open = contextlib.ExitStack()
        self._thread = 0

    def begin(self) -> None:
        """Where it cannot be listed, end() says so."""
        import torch

        if torch._C._len_torch_dispatch_stack() > 0:
            self._reason = "the script runs in a TorchDispatchMode of its own"
            return
        if torch._C._functorch.peek_interpreter_stack() is not None:
            self._reason = "its steps begin inside a transform of torch.func"
            return
        self._thread = threading.get_ident()
        os.register_at_fork(after_in_child=self.close)  # workers of a data loader list nothing
        self._open.enter_context(operation_log.noted(self._log, self._note))

    def end(self) -> dict[str, Any]:
        """The message."""
        self.close()
        if self._reason:
            return {"type": "stepListed", "reason": self._reason}
        log, self._log = self._log, operation_log.OperationLog()
        return {"type": "stepListed", "tf32": _allowed_in_tf32(), "operations": log.message()}

    def close(self) -> None:
        """Ends it, also where the script is inside a mode that it entered meanwhile. Not inside an operation."""
        import torch
        from torch.utils import _python_dispatch as modes

        if self._thread != threading.get_ident():
            return
        self._thread = 0
        inner = [modes._pop_mode() for _ in range(torch._C._len_torch_dispatch_stack() - 1)]
        self._open.close()
        for mode in reversed(inner):
            modes._push_mode(mode)

    def _note(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._reason:
            return
        try:
            self._log.note(operator, args, kwargs)
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self._reason = reason_of(error)
            release(error)
