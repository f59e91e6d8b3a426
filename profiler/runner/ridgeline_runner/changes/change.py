"""A step while it is built, and what a change of it may override."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Function = Callable[..., Any]


class NotApplicable(Exception):
    """Why a change cannot be made to this step."""


def title(request: list[str]) -> str:
    return " + ".join(request) if request else "the unchanged step"


class Way(enum.Enum):
    """What is done with a step once it is built."""

    RUN = enum.auto()
    LISTED = enum.auto()  # its operations, by operation_log: nothing large is computed
    LISTED_FOR_CUDA = enum.auto()  # on the host, where its tensors stand for those of a CUDA device


@dataclass
class Parts:
    """A step while it is built. A change overwrites what it changes."""

    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    batch_size: int
    way: Way = Way.RUN
    calls: int = 1  # of the function that the providers return, in one step
    optimizers: list[Any] = field(default_factory=list)
    inputs: tuple[Any, ...] = ()
    function: Function = lambda *_: None
    around: list[Callable[[], contextlib.AbstractContextManager[Any]]] = field(default_factory=list)  # of the process
    taken_out: list[Any] = field(default_factory=list)  # modules that the step does without
    changed_modules: list[Any] = field(default_factory=list)  # by changes of single modules, such as checkpoint

    @property
    def samples(self) -> int:
        """Samples of one step."""
        return self.batch_size * self.calls

    @property
    def models(self) -> list[Any]:
        return [*self.positional, *self.keywords.values()]

    def surroundings(self) -> contextlib.ExitStack:
        """What the step runs in: the changes' own contexts, entered."""
        stack = contextlib.ExitStack()
        for enter in self.around:
            stack.enter_context(enter())
        return stack

    def module(self, name: str) -> Any:
        """The instance of that name, as reports have it: `ResNet.layer1.0`, or without the model's class."""
        for model in self.models:
            for path, module in model.named_modules():
                if path and name in (path, f"{type(model).__name__}.{path}"):
                    return module
        raise NotApplicable(f"there is no module called {name}")

    def unused(self) -> list[tuple[dict[str, Any], str]]:
        """The parameters and buffers that only modules that are taken out have, each as the dictionary that holds it
        and its key there."""
        out = {id(module): module for taken in self.taken_out for module in taken.modules()}
        kept = {
            id(tensor)
            for model in self.models
            for module in model.modules()
            if id(module) not in out
            for tensor in (*module._parameters.values(), *module._buffers.values())
        }
        holders = [tensors for module in out.values() for tensors in (module._parameters, module._buffers)]
        return [(h, key) for h in holders for key, tensor in h.items() if tensor is not None and id(tensor) not in kept]


class Change:
    """Does nothing: what each change overrides is what it changes. One per built step."""

    reshapes = False  # whether layers may get inputs of another width than without it

    def __init__(self, argument: str) -> None:
        self.argument = argument

    def on_models(self, parts: Parts) -> None:
        """Before the iteration provider is called."""

    def on_optimizers(self, parts: Parts) -> None:
        """After it was."""

    def on_step(self, parts: Parts) -> None:
        """Once inputs and function are there."""


def whole_number(argument: str, name: str, *, least: int) -> int:
    """Raises NotApplicable with how to write the change."""
    if not argument.isdecimal() or not least <= int(argument) <= 1 << 24:
        raise NotApplicable(f"write {name}:N, with a whole number of at least {least}")
    return int(argument)
