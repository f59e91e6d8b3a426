"""The backward passes of a script: where the outermost one begins and ends on a thread.

Everything that runs torch's autograd engine from Python passes through torch.autograd.backward or torch.autograd.grad:
Tensor.backward, functions of torch.func, gradient penalties. What runs inside a backward pass, as the recomputation of
a checkpoint, is part of it.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from ridgeline_runner.common.patches import Patches


class Backward:
    """One outermost run of the engine. Holds tensors of the script's: not to be kept."""

    __slots__ = ("_arguments", "_keywords", "_returns")

    def __init__(self, arguments: tuple[Any, ...], keywords: dict[str, Any], returns: bool) -> None:
        """Describes a call of torch.autograd.grad (`returns`) or torch.autograd.backward. Reads the arguments only when
        asked: every step of a script that is timed makes one."""
        self._arguments, self._keywords, self._returns = arguments, keywords, returns

    @property
    def roots(self) -> Sequence[Any]:
        return _sequence(self._argument("outputs" if self._returns else "tensors", 0))

    @property
    def inputs(self) -> Sequence[Any]:
        """The tensors whose gradients are returned; empty: those of all leaves are accumulated."""
        return _sequence(self._argument("inputs", 1 if self._returns else 5))

    @property
    def gives_graph(self) -> bool:
        """To differentiate again, and not because torch.func always asks for that: part of a forward pass."""
        if not self._argument("create_graph", 4 if self._returns else 3):
            return False
        import torch

        return torch._C._functorch.peek_interpreter_stack() is None

    def _argument(self, name: str, at: int) -> Any:
        return self._arguments[at] if len(self._arguments) > at else self._keywords.get(name)


class Listener(Protocol):
    def backward_begins(self, backward: Backward) -> None: ...

    def backward_ended(self) -> None: ...


class BackwardWatch:
    def __init__(self, listener: Listener) -> None:
        import torch

        self._listener = listener
        self._local = threading.local()
        self._set_eval_frame = torch._C._dynamo.eval_frame.set_eval_frame

    def install(self, patches: Patches) -> None:
        import torch

        patches.replace(torch.autograd, "backward", functools.partial(self._watch, returns=False))
        patches.replace(torch.autograd, "grad", functools.partial(self._watch, returns=True))

    def is_inside(self) -> bool:
        """Whether this thread is one on which a backward pass goes on, as in a hook of a tensor."""
        import torch

        return getattr(self._local, "depth", 0) > 0 or torch._C._current_graph_task_id() != -1

    @contextlib.contextmanager
    def unwatched(self) -> Iterator[None]:
        """What this thread does meanwhile is the runner's: no backward pass of the script, and nothing to compile."""
        local, depth = self._local, getattr(self._local, "depth", 0)
        local.depth = depth + 1
        compiles = self._set_eval_frame(None)
        try:
            yield
        finally:
            self._set_eval_frame(compiles)
            local.depth = depth

    def _watch(self, run: Callable[..., Any], *, returns: bool) -> Callable[..., Any]:
        from torch.compiler import is_dynamo_compiling

        local, listener, set_eval_frame = self._local, self._listener, self._set_eval_frame

        @functools.wraps(run)
        def watched(*arguments: Any, **keywords: Any) -> Any:
            if is_dynamo_compiling() or getattr(local, "depth", 0):  # what is traced contains nothing of ours
                return run(*arguments, **keywords)
            local.depth = 1
            compiles = set_eval_frame(None)  # the runner's own code is not compiled
            try:
                listener.backward_begins(Backward(arguments, keywords, returns))
                set_eval_frame(compiles)
                result = run(*arguments, **keywords)
                compiles = set_eval_frame(None)
                listener.backward_ended()
            finally:
                set_eval_frame(compiles)
                local.depth = 0
            return result

        return watched


def _sequence(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, (tuple, list)) else (value,)
