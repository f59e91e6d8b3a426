"""Functions of torch that are replaced while a script is recorded, and put back afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Patches:
    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """`make` gets the function that is replaced, and returns the one that takes its place."""
        before = owner.__dict__[name]
        after = make(before)
        setattr(owner, name, after)
        self._replaced.append((owner, name, before, after))

    def undo(self) -> None:
        """Puts back what was there, except where somebody has replaced it again."""
        for owner, name, before, after in reversed(self._replaced):
            if owner.__dict__.get(name) is after:
                setattr(owner, name, before)
        self._replaced.clear()
