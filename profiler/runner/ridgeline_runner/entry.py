"""Entry points: finding the three providers and calling them as ../../../docs/entry-points.md says."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ridgeline_runner.failure import Failure

PREFIXES = ("", "ridgeline_", "skyline_", "deepview_")
NAMES = ("model_provider", "input_provider", "iteration_provider")


def load(path: str, project_root: str) -> ModuleType:
    """Runs the entry file as a module, with its own folder and then the project root first on the path."""
    folder = os.path.dirname(path)
    sys.path[:0] = [folder] if folder == project_root else [folder, project_root]
    sys.argv = [path]
    sys.dont_write_bytecode = True
    os.chdir(folder)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure("entry-unreadable", f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class EntryPoint:
    """The providers of one entry file, checked."""

    model_provider: Callable[..., Any]
    input_provider: Callable[..., Any]
    iteration_provider: Callable[..., Any]
    batch_size: int

    @staticmethod
    def of(module: ModuleType, path: str) -> EntryPoint:
        """Finds the providers of any name generation; raises Failure with what to do when one is missing."""
        found = {name: _find(module, name, path) for name in NAMES}
        return EntryPoint(**found, batch_size=_default_batch_size(found["input_provider"], path))

    def models(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Calls the model provider; the models as positional and keyword arguments of the iteration provider."""
        import torch

        returned = self.model_provider()
        if isinstance(returned, dict):
            positional, keywords = (), dict(returned)
        elif isinstance(returned, (tuple, list)):
            positional, keywords = tuple(returned), {}
        else:
            positional, keywords = (returned,), {}
        models = [*positional, *keywords.values()]
        if not models or not all(isinstance(model, torch.nn.Module) for model in models):
            raise self._wrong(
                self.model_provider,
                "wrong-model",
                "must return a torch.nn.Module, or a tuple, list or dict of them, and returned " + _describe(returned),
            )
        return positional, keywords

    def inputs(self, batch_size: int) -> tuple[Any, ...]:
        """Calls the input provider; the positional arguments of one iteration."""
        import torch

        returned = self.input_provider(batch_size=batch_size)
        if isinstance(returned, torch.Tensor):
            raise self._wrong(
                self.input_provider,
                "wrong-inputs",
                "returned a bare tensor. Return the arguments of the iteration as a tuple: `return (x,)`",
            )
        try:
            return tuple(returned)
        except TypeError:
            raise self._wrong(
                self.input_provider,
                "wrong-inputs",
                "must return an iterable of the iteration's arguments, and returned " + _describe(returned),
            ) from None

    def iteration(self, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any]:
        """Calls the iteration provider; the function that runs one training iteration."""
        returned = self.iteration_provider(*positional, **keywords)
        if not callable(returned):
            raise self._wrong(
                self.iteration_provider,
                "wrong-iteration",
                "must return a function that runs one training iteration, and returned " + _describe(returned),
            )
        return returned

    @staticmethod
    def _wrong(provider: Callable[..., Any], kind: str, words: str) -> Failure:
        code = getattr(provider, "__code__", None)
        return Failure(
            kind,
            f"{getattr(provider, '__name__', 'the provider')} {words}.",
            file=code.co_filename if code else None,
            line=code.co_firstlineno if code else None,
        )


def tensors_in(value: Any, depth: int = 0) -> list[Any]:
    """Every tensor in nested tuples, lists, dicts and objects with fields, to a bounded depth."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if depth > 8:
        return []
    if isinstance(value, dict):
        children: Any = value.values()
    elif isinstance(value, (tuple, list, set)):
        children = value
    elif hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType)):
        children = vars(value).values()
    else:
        return []
    return [tensor for child in children for tensor in tensors_in(child, depth + 1)]


def _find(module: ModuleType, name: str, path: str) -> Callable[..., Any]:
    present = [prefix + name for prefix in PREFIXES if callable(getattr(module, prefix + name, None))]
    if present:
        return getattr(module, present[0])
    functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
    wanted = [prefix + name for prefix in PREFIXES]
    close = [match for want in wanted for match in difflib.get_close_matches(want, functions, n=1, cutoff=0.8)]
    close = [match for match in close if not any(match == prefix + other for prefix in PREFIXES for other in NAMES)]
    hint = f" Did you mean `{name}` where it says `{close[0]}`?" if close else ""
    line = vars(module)[close[0]].__code__.co_firstlineno if close else 1
    raise Failure("provider-missing", f"{os.path.basename(path)} defines no `{name}`.{hint}", file=path, line=line)


def _default_batch_size(provider: Callable[..., Any], path: str) -> int:
    code = getattr(provider, "__code__", None)
    line = code.co_firstlineno if code else 1
    try:
        parameter = inspect.signature(provider).parameters.get("batch_size")
    except (TypeError, ValueError):
        parameter = None
    if parameter is None or parameter.default is inspect.Parameter.empty:
        raise Failure(
            "batch-size-missing",
            "input_provider needs a parameter `batch_size` with a default, such as `batch_size=32`.",
            file=path,
            line=line,
        )
    value = parameter.default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Failure(
            "batch-size-invalid",
            f"The default of `batch_size` must be a positive integer, and is {value!r}.",
            file=path,
            line=line,
        )
    return value


def _describe(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
