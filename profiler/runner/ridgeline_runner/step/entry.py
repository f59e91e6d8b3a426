"""Entry points: finding the three providers and calling them as ../../../docs/user/entry-points.md describes."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import importlib.util
import inspect
import itertools
import math
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ridgeline_runner.common.failure import Failure, safe_repr
from ridgeline_runner.common.overlay import source_of

PREFIXES = ("", "ridgeline_", "skyline_", "deepview_")
NAMES = ("model_provider", "input_provider", "iteration_provider")
LENGTHS = "length_provider"  # which an entry file may have
MAX_BATCH_SIZE = 1 << 24  # as the command line has it
_MAX_ARGUMENTS = 255
_MAX_UNIT_BYTES = 64  # the daemon takes no more


def load(path: str, project_root: str) -> ModuleType:
    """Runs the entry file as a module, with its own folder and then the project root first on the path."""
    folder, file = os.path.split(path)
    name = _module_name(os.path.splitext(file)[0], path)
    package = _package_of(path)
    sys.path[:0] = dict.fromkeys([folder, project_root, *([package.parent] if package else [])])
    sys.argv = [path]
    sys.dont_write_bytecode = True
    os.chdir(folder)
    if package:
        importlib.import_module(package.name)
        name = f"{package.name}.{name}"
        if name in sys.modules:
            return sys.modules[name]  # the package imports it
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure("entry-unreadable", f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _module_name(stem: str, path: str) -> str:
    """The file's name, unless an installed module has it: that keeps its name, also for the entry file."""
    if not stem.isidentifier():
        return re.sub(r"\W", "_", stem)
    if stem not in sys.modules:
        installed = importlib.util.find_spec(stem)
        if installed is None or installed.origin is None or installed.origin == path:
            return stem
        sys.meta_path.insert(0, _Installed(stem, installed))
    return f"{stem}_entry"


@dataclass(frozen=True)
class _Installed:
    """Finds one module where it is installed, whatever is in the entry file's folder."""

    name: str
    spec: ModuleSpec

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return self.spec if name == self.name else None


@dataclass(frozen=True)
class _Package:
    """A dotted name, and the folder that it is found in."""

    name: str
    parent: str


def _package_of(path: str) -> _Package | None:
    """The package that the entry file's relative imports are about; None when it has none."""
    try:
        tree = ast.parse(source_of(path))
    except (SyntaxError, ValueError):
        return None  # loading it reports the problem
    relative = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level > 0]
    if not relative:
        return None
    names: list[str] = []
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    outside = [node for node in relative if node.level > len(names)]
    if outside:
        imported = "." * outside[0].level + (outside[0].module or "")
        raise Failure(
            "import-error",
            f"`from {imported} import` needs a package around the entry file: put an empty __init__.py into "
            f"{os.path.basename(folder) or folder}, or import without the dots.",
            file=path,
            line=outside[0].lineno,
        )
    return _Package(".".join(names), folder)


@dataclass(frozen=True)
class EntryPoint:
    """The providers of one entry file, checked."""

    model_provider: Callable[..., Any]
    input_provider: Callable[..., Any]
    iteration_provider: Callable[..., Any]
    batch_size: int
    length_provider: Callable[..., Any] | None = None

    @staticmethod
    def of(module: ModuleType, path: str) -> EntryPoint:
        """Finds the providers of any name generation; raises Failure with what to do when one is missing."""
        _refuse_duplicates(module, path)
        found = {name: _find(module, name, path) for name in NAMES}
        has_lengths = bool(_generations(module, LENGTHS))
        return EntryPoint(
            **found,
            batch_size=_default_batch_size(found["input_provider"], path),
            length_provider=_find(module, LENGTHS, path) if has_lengths else None,
        )

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
        # These are iterable, but their elements are not the inputs.
        misleading = isinstance(returned, (str, bytes, Mapping)) or hasattr(type(returned), "__array__")
        try:
            elements = None if misleading else iter(returned)
        except TypeError:
            elements = None
        if elements is None:
            raise self._wrong(
                self.input_provider,
                "wrong-inputs",
                "must return the iteration's arguments, as a tuple or another iterable, and returned "
                + _describe(returned),
            )
        inputs = tuple(itertools.islice(elements, _MAX_ARGUMENTS + 1))
        if len(inputs) > _MAX_ARGUMENTS:
            raise self._wrong(
                self.input_provider,
                "wrong-inputs",
                f"must return the arguments of one iteration, and returned more than {_MAX_ARGUMENTS}",
            )
        return inputs

    def length(self, inputs: tuple[Any, ...]) -> dict[str, Any] | None:
        """Calls the length provider; how long the inputs are together, and in which unit. None where there is none."""
        if self.length_provider is None:
            return None
        returned = self.length_provider(*inputs)
        total, unit = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, "")
        try:
            found = float(total)
        except (TypeError, ValueError):
            found = math.nan
        if not (0 < found < math.inf and isinstance(unit, str) and 0 < len(unit.encode()) <= _MAX_UNIT_BYTES):
            raise self._wrong(
                self.length_provider,
                "wrong-inputs",
                "must return how long the inputs are, a positive number, and its unit, such as (1200, 'tokens'), and "
                "returned " + _describe(returned),
            )
        return {"total": found, "unit": unit}

    def check_arguments(self, step: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
        """Raises Failure when the iteration cannot be called with that many inputs."""
        try:
            signature = inspect.signature(step)
        except (TypeError, ValueError):
            return  # a callable without a signature: only the call can show it
        try:
            signature.bind(*inputs)
        except TypeError as problem:
            raise self._wrong(
                step,
                "wrong-inputs",
                f"takes {signature}, and input_provider returned {len(inputs)} "
                f"{'value' if len(inputs) == 1 else 'values'}: {problem}",
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
    def _wrong(provider: Callable[..., Any], kind: str, problem: str) -> Failure:
        code = getattr(provider, "__code__", None)
        return Failure(
            kind,
            f"{getattr(provider, '__name__', type(provider).__name__)} {problem}.",
            file=code.co_filename if code else None,
            line=code.co_firstlineno if code else None,
        )


def load_entry_point(spec: dict[str, Any]) -> EntryPoint:
    """Runs the entry file of a run's spec; its providers."""
    return EntryPoint.of(load(spec["entry"], spec["projectRoot"]), spec["entry"])


def tensors_in(value: Any) -> list[Any]:
    """Every tensor in nested containers and objects with fields, each once, in order. Visits at most 100 000 values."""
    import torch

    found: list[Any] = []
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < _MAX_VALUES:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        children: list[Any] = []
        with contextlib.suppress(Exception):  # the user's classes may do anything here
            if isinstance(item, torch.Tensor):
                found.append(item)
            children = list(itertools.islice(_children(item), _MAX_VALUES))
        waiting.extend(reversed(children))
    return found


_MAX_VALUES = 100_000
_LEAVES = (str, bytes, bytearray, int, float, complex, type(None), type, ModuleType)


def _children(value: Any) -> Iterable[Any]:
    """The elements of a container, and the fields of an object: those of its dictionary and of its slots."""
    if isinstance(value, _LEAVES):
        return
    if isinstance(value, dict):
        yield from dict.values(value)
    elif isinstance(value, (tuple, list, set, frozenset, deque)):
        yield from value
    elif hasattr(value, "__tensor_flatten__"):  # a tensor made of tensors
        yield from (getattr(value, name) for name in value.__tensor_flatten__()[0])
        return
    yield from getattr(value, "__dict__", {}).values()
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield getattr(value, name)


def _refuse_duplicates(module: ModuleType, path: str) -> None:
    """Raises Failure when it is not clear which definition of a provider is meant."""
    functions = _definitions(path, functions_only=True)
    for name in NAMES:
        present = {key: value for key, value in _generations(module, name).items() if callable(value)}
        for key in present:
            if len(functions.get(key, [])) > 1:
                first, *_, last = functions[key]
                raise Failure(
                    "provider-duplicate",
                    f"`{key}` is defined twice, in lines {first} and {last}. Remove one.",
                    file=path,
                    line=last,
                )
        different = {id(value): key for key, value in present.items()}
        if len(different) > 1:
            places = sorted((_place_of(present[key], path)["line"], key) for key in different.values())
            (first, one), (last, other) = places[0], places[-1]
            raise Failure(
                "provider-duplicate",
                f"`{one}` (line {first}) and `{other}` (line {last}) are two definitions of one provider. Remove one.",
                **_place_of(present[other], path),
            )


def _generations(module: ModuleType, name: str) -> dict[str, Any]:
    """What the module defines under any of the provider's names."""
    defined = vars(module)
    return {prefix + name: defined[prefix + name] for prefix in PREFIXES if prefix + name in defined}


def _definitions(path: str, *, functions_only: bool) -> dict[str, list[int]]:
    """Name → the lines of the top-level statements of the file that define or assign it.

    Nothing when the file cannot be read any more: its code has run, and may have done anything.
    """
    lines: dict[str, list[int]] = {}
    try:
        tree = ast.parse(source_of(path))
    except (OSError, SyntaxError, ValueError):
        return {}
    for statement in tree.body:
        names: list[str] = []
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [statement.name]
        elif isinstance(statement, ast.Assign) and not functions_only:
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        for name in names:
            lines.setdefault(name, []).append(statement.lineno)
    return lines


def _find(module: ModuleType, name: str, path: str) -> Callable[..., Any]:
    present = _generations(module, name)
    for key, provider in present.items():
        if inspect.iscoroutinefunction(provider) or inspect.isasyncgenfunction(provider):
            place = _place_of(provider, path)
            raise Failure("provider-invalid", f"`{key}` is an `async def`. Write it as a plain `def`.", **place)
        if callable(provider):
            return provider
    for key, value in present.items():
        line = _definitions(path, functions_only=False).get(key, [1])[-1]
        message = f"`{key}` must be a function, and is {_describe(value)}."
        raise Failure("provider-invalid", message, file=path, line=line)
    functions = {key: value for key, value in vars(module).items() if inspect.isfunction(value)}
    wanted = [prefix + name for prefix in PREFIXES]
    close = [match for want in wanted for match in difflib.get_close_matches(want, functions, n=1, cutoff=0.8)]
    close = [match for match in close if not any(match == prefix + other for prefix in PREFIXES for other in NAMES)]
    hint = f" Did you mean `{name}` where it says `{close[0]}`?" if close else ""
    place = _place_of(functions[close[0]] if close else None, path)
    raise Failure("provider-missing", f"{os.path.basename(path)} defines no `{name}`.{hint}", **place)


def _place_of(provider: Any, path: str) -> dict[str, Any]:
    """Where a provider is defined; the entry file's first line when that is not known."""
    code = getattr(provider, "__code__", None)
    return {"file": code.co_filename, "line": code.co_firstlineno} if code else {"file": path, "line": 1}


def _default_batch_size(provider: Callable[..., Any], path: str) -> int:
    try:
        parameter = inspect.signature(provider).parameters.get("batch_size")
    except (TypeError, ValueError):
        parameter = None
    if parameter is None or parameter.default is inspect.Parameter.empty:
        raise Failure(
            "batch-size-missing",
            "input_provider needs a parameter `batch_size` with a default, such as `batch_size=32`.",
            **_place_of(provider, path),
        )
    value = parameter.default
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_BATCH_SIZE:
        raise Failure(
            "batch-size-invalid",
            f"The default of `batch_size` must be a positive integer, at most {MAX_BATCH_SIZE}, and is "
            f"{safe_repr(value)}.",
            **_place_of(provider, path),
        )
    return int(value)


def _describe(value: Any) -> str:
    if value is None:
        return "nothing"
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
