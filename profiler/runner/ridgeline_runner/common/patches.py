"""Functions of torch that are replaced while a script is recorded, and put back afterwards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ridgeline_runner.common import dynamo


class Patches:
    def __init__(self, *, stay: bool = False) -> None:
        """`stay`: undo() ends what functions do that were put in place, but leaves them there. torch.compile would
        notice that others are back, and compile again."""
        self._stay = stay
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self.are_undone = False

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """`make` gets the function that is replaced, and returns the one that takes its place. torch.compile traces the
        one before."""
        self.are_undone = False
        before = owner.__dict__[name]
        after = make(before)
        if isinstance(after, FunctionType):
            after = _unless_traced(before, after, self)
        setattr(owner, name, after)
        self._replaced.append((owner, name, before, after))

    def undo(self) -> None:
        """Puts back what was there, except where somebody has replaced it again."""
        self.are_undone = True
        for owner, name, before, after in reversed(self._replaced):
            if owner.__dict__.get(name) is after and not (self._stay and isinstance(after, FunctionType)):
                setattr(owner, name, before)
        self._replaced.clear()


def _unless_traced(before: Callable[..., Any], after: Callable[..., Any], patches: Patches) -> Callable[..., Any]:
    from torch.compiler import is_dynamo_compiling

    @functools.wraps(before)
    def called(*arguments: Any, **keywords: Any) -> Any:
        # dynamo knows the first answer while it traces: what follows is no part of any graph.
        if is_dynamo_compiling() or patches.are_undone or dynamo.is_compiling():
            return before(*arguments, **keywords)
        return after(*arguments, **keywords)

    return called
