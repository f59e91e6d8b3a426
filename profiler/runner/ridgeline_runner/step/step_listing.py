"""The operations of the profiled step: listed once more after everything was measured, or, of a script, while it takes
a step of its own."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from time import perf_counter, perf_counter_ns  # before user code can replace it
from typing import Any

from ridgeline_runner.common.channel import ChannelClosed
from ridgeline_runner.common.failure import reason_of, release
from ridgeline_runner.cuda import operators
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

    def __init__(
        self,
        module_names: dict[int, str] | None = None,
        before: Callable[[], None] = lambda: None,
        *,
        for_cuda: bool = False,
        leaves_out: Callable[[], bool] = lambda: False,
    ) -> None:
        """`module_names`: the dotted name by id of the instance. `before` is called before each operation that is
        listed: all but those during which `leaves_out` says so. `for_cuda`: a step of the host is listed with the
        operators of a CUDA device."""
        self.log = operation_log.OperationLog()
        self.reason = ""  # why the step cannot be listed
        self.host_ns: list[int] = []  # before each operation, since the one before it ended; 0 before the first
        self._module_names = module_names
        self._before = before
        self._for_cuda = for_cuda
        self._leaves_out = leaves_out
        self._ended = 0  # when the last operation did
        self._open = contextlib.ExitStack()
        self._thread = 0

    def begin(self) -> None:
        """Where it cannot be listed, end() says so."""
        import torch

        if torch._C._len_torch_dispatch_stack() > 0:
            self.reason = "the script runs in a TorchDispatchMode of its own"
            return
        if torch._C._functorch.peek_interpreter_stack() is not None:
            self.reason = "its steps begin inside a transform of torch.func"
            return
        self._thread = threading.get_ident()
        os.register_at_fork(after_in_child=self.close)  # workers of a data loader list nothing
        if self._for_cuda:
            self._open.enter_context(operators.chosen())
        self._open.enter_context(
            operation_log.noted(self.log, self._note, begin=self._operation_begins, end=self._operation_ended)
        )
        if self._module_names is not None:
            self._open.enter_context(operation_log.in_modules(self.log, self._module_names))

    def end(self) -> dict[str, Any]:
        """The message."""
        self.close()
        if self.reason:
            return {"type": "stepListed", "reason": self.reason}
        log, self.log = self.log, operation_log.OperationLog()
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

    def _operation_begins(self) -> None:
        self.host_ns.append(perf_counter_ns() - self._ended if self._ended else 0)

    def _operation_ended(self) -> None:
        self._ended = perf_counter_ns()

    def _note(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.reason or self._leaves_out():
            return
        try:
            self.log.note(operator, args, kwargs)
            self._before()
        except Exception as error:  # noqa: BLE001 - the script must not notice
            self.reason = reason_of(error)
            release(error)
