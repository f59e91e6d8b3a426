"""What torch.compile must not notice, and what it does. Nothing here imports torch._dynamo, which takes a second."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any


def keep_out() -> None:
    """Where a compiled function calls this package, as in a hook or in what it replaced of torch, these frames are left
    to the interpreter. Call it once all modules of the package are imported."""
    package = __name__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}."):
            for code in _codes_of(module):
                _skip(code)


_LEAST_QUIET = 2  # steps in which nothing was compiled, before torch.compile has settled


class Compilations:
    """What torch.compile does from step to step."""

    def __init__(self) -> None:
        self._seen = _compilations()
        self._seen_ns = _compilation_ns()
        self.quiet_steps = 0  # since something was compiled

    def step_ended(self) -> tuple[bool, int]:
        """Whether something was compiled in the step, and for how long: nanoseconds, 0 where that is not known."""
        before, before_ns = self._seen, self._seen_ns
        self._seen, self._seen_ns = _compilations(), _compilation_ns()
        has_compiled = self._seen != before
        self.quiet_steps = 0 if has_compiled else self.quiet_steps + 1
        return has_compiled, max(0, self._seen_ns - before_ns)

    @property
    def has_settled(self) -> bool:
        return self.quiet_steps >= _LEAST_QUIET


def not_settled(steps: int) -> str:
    """The warning about a step that was measured although torch.compile still compiled, after so many."""
    return (
        f"torch.compile had not settled after {steps} {'step' if steps == 1 else 'steps'}: it was still compiling. The "
        "times include that, and vary for it rather than for another program. TORCH_LOGS=recompiles says why it "
        "compiles again."
    )


def _compilations() -> int:
    """How often torch.compile has compiled something in this process. After `torch._dynamo.reset` it may be less."""
    module = sys.modules.get("torch._dynamo.utils")
    counters: dict[str, dict[str, int]] = getattr(module, "counters", {})
    parts = (("frames", "total"), ("aot_autograd", "total"), ("compiled_autograd", "captures"))
    return sum(counters.get(group, {}).get(name, 0) for group, name in parts)


def _compilation_ns() -> int:
    """The time that they took."""
    module = sys.modules.get("torch._dynamo.utils")
    seconds: dict[str, list[float]] = getattr(module, "compilation_time_metrics", {})
    frames = seconds.get("_compile.compile_inner") or seconds.get("entire_frame_compile") or []
    return round(sum(frames) * 1e9)


def is_compiling() -> bool:
    """Whether this thread compiles. What backends call meanwhile has symbolic sizes: to read one makes it a constant of
    the graph."""
    guards = sys.modules.get("torch._guards")
    return guards is not None and guards.CompileContext.try_get() is not None


def unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where compiled code calls the function between two graphs, neither it nor what it calls is compiled."""

    @functools.wraps(function)
    def called(*arguments: Any, **keywords: Any) -> Any:
        import torch

        set_eval_frame = torch._C._dynamo.eval_frame.set_eval_frame
        compiles = set_eval_frame(None)
        try:
            return function(*arguments, **keywords)
        finally:
            set_eval_frame(compiles)

    return called


def _codes_of(module: ModuleType) -> Iterator[CodeType]:
    """The code of the functions and methods that the module defines, and of what is defined in them."""
    classes = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    for owner in (module, *classes):
        for value in list(vars(owner).values()):
            function = getattr(value, "__func__", getattr(value, "fget", value))
            while isinstance(function, FunctionType):
                if function.__code__.co_filename == module.__file__:  # else a decorator's
                    yield from _with_inner(function.__code__)
                function = getattr(function, "__wrapped__", None)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _skip(code: CodeType) -> None:
    import torch

    eval_frame: Any = torch._C._dynamo.eval_frame
    with contextlib.suppress(Exception):  # another version of torch: the frame is compiled, and runs as it did
        if hasattr(eval_frame, "set_code_exec_strategy"):
            action = eval_frame._FrameAction
            eval_frame.set_code_exec_strategy(code, eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT))
        else:
            eval_frame.skip_code(code)
