"""How a script is ended after its recording: by SystemExit where nothing in it would catch that, else at once."""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import ctypes
import fcntl
import gc
import io
import linecache
import os
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

_MOST_NAMED = 5  # files
_SUPPRESSING = {"suppress", "raises", "assertRaises"}  # of contextlib, pytest and unittest
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_TRIES: tuple[type[ast.AST], ...] = tuple(getattr(ast, name) for name in ("Try", "TryStar") if hasattr(ast, name))


class ScriptEnd:
    """Decided where the recording ends, and carried out a few calls further out on the same stack."""

    def __init__(self, frame: FrameType) -> None:
        """`frame`: the innermost one of the script's thread."""
        self._caught_at = catching_line(frame)
        self._was_raised = False

    def warnings(self) -> list[str]:
        """What the user must know of files that may be incomplete; before leave()."""
        files = files_being_written() if self._caught_at else []
        if not files:
            return []
        more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
        return [
            "--stop ended the script while files were open for writing, which may be incomplete: "
            f"{', '.join(files[:_MOST_NAMED])}{more}. An exception could not end it: {self._caught_at} catches all."
        ]

    def leave(self) -> NoReturn:
        """Ends the script with status 0. Called again, it was not ended: something has caught the exception."""
        if self._caught_at or self._was_raised:
            end_at_once()
        self._was_raised = True
        raise SystemExit(0)


def catching_line(frame: FrameType | None) -> str:
    """FILE:LINE of the innermost statement that SystemExit, raised in `frame`, would not get past; empty: it would end
    the script. What has no source is taken to let it pass."""
    while frame is not None:
        code = frame.f_code
        if getattr(code, "co_exceptiontable", b"?"):  # before Python 3.11 there is none
            with contextlib.suppress(Exception):  # as where the source is not Python
                line = _catching_line(frame)
                if line:
                    return f"{code.co_filename}:{line}"
        frame = frame.f_back
    return ""


def _catching_line(frame: FrameType) -> int:
    code = frame.f_code
    tree = ast.parse("".join(linecache.getlines(code.co_filename, frame.f_globals)))
    scope = _scope_of(tree, code.co_name, code.co_firstlineno)
    inner_first = sorted(_own_nodes(scope), key=lambda node: -getattr(node, "lineno", 0))
    for node in inner_first:
        if isinstance(node, _TRIES):
            line = _caught_by_try(node, frame)
        elif isinstance(node, (ast.With, ast.AsyncWith)) and _covers(node.body, frame.f_lineno):
            line = node.lineno if any(_suppresses(item.context_expr, frame) for item in node.items) else 0
        else:
            line = 0
        if line:
            return line
    return 0


def _scope_of(tree: ast.Module, name: str, first_line: int) -> ast.AST:
    """The function or class whose code begins there, with its decorators; else the module."""
    for node in ast.walk(tree):
        is_named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name
        if is_named and min([node.lineno, *(one.lineno for one in node.decorator_list)]) == first_line:
            return node
    return tree


def _own_nodes(scope: ast.AST | Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes in it, without those of functions and classes that are defined there."""
    waiting = list(ast.iter_child_nodes(scope)) if isinstance(scope, ast.AST) else list(scope)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _covers(body: Sequence[ast.stmt], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)


def _caught_by_try(node: Any, frame: FrameType) -> int:
    """Line of what catches SystemExit from the line that the frame is at; 0: nothing of the statement."""
    line = frame.f_lineno
    if _covers(node.body, line):
        first = next((one for one in node.handlers if _catches_exit(one.type, frame)), None)
        if first is not None and not _raises_again(first):
            return first.lineno
    elif not (_covers(node.orelse, line) or any(_covers(one.body, line) for one in node.handlers)):
        return 0
    leaves = next((one for one in _own_nodes(node.finalbody) if isinstance(one, ast.Return)), None)
    return leaves.lineno if leaves is not None else 0


def _catches_exit(kind: ast.expr | None, frame: FrameType) -> bool:
    if kind is None:
        return True
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    values: list[Any] = []
    for name in names:
        value = _value_of(name, frame)
        values += value if isinstance(value, tuple) else [value]
    return any(isinstance(value, type) and issubclass(SystemExit, value) for value in values)


def _value_of(name: ast.expr, frame: FrameType) -> Any:
    """The value of a name, or of a dotted one of modules; None: it is not known without running code."""
    if isinstance(name, ast.Name):
        return frame.f_globals.get(name.id, getattr(builtins, name.id, None))
    if isinstance(name, ast.Attribute):
        return getattr(_value_of(name.value, frame), "__dict__", {}).get(name.attr)
    return None


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    if not isinstance(last, ast.Raise):
        return False
    same = last.exc is None or (isinstance(last.exc, ast.Name) and last.exc.id == handler.name)
    return same and not any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in _own_nodes(handler))


def _suppresses(expression: ast.expr, frame: FrameType) -> bool:
    if not isinstance(expression, ast.Call):
        return False
    called = expression.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in _SUPPRESSING and any(_catches_exit(one, frame) for one in expression.args)


def files_being_written() -> list[str]:
    """Paths of regular files that this process has open for writing, other than its standard streams."""
    streams = set(_identities(range(3)))
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError, ValueError):
            status = os.fstat(int(name))
            path = os.readlink(f"/proc/self/fd/{name}")
            is_file = stat.S_ISREG(status.st_mode) and status.st_nlink > 0 and path.startswith("/")
            if is_file and (status.st_dev, status.st_ino) not in streams and _is_for_writing(int(name)):
                found.append(path)
    return sorted(set(found))


def _identities(descriptors: Iterable[int]) -> Iterator[tuple[int, int]]:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            status = os.fstat(descriptor)
            yield status.st_dev, status.st_ino


def _is_for_writing(descriptor: int) -> bool:
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def end_at_once() -> NoReturn:
    """Ends the process with status 0 as the interpreter does, but for what is on the stack: handlers of atexit run, and
    what was written to files and streams reaches them."""
    with contextlib.suppress(BaseException):
        if threading.current_thread() is threading.main_thread():
            threading._shutdown()  # noqa: SLF001 - waits for threads and executors; there is no public name
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()  # noqa: SLF001 - likewise
    _flush(sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    files = [one for one in gc.get_objects() if issubclass(type(one), io.IOBase)]
    _flush(*(one for one in files if issubclass(type(one), io.TextIOBase)))  # before the buffers that they write to
    _flush(*(one for one in files if issubclass(type(one), io.BufferedIOBase)))
    with contextlib.suppress(BaseException):
        ctypes.CDLL(None).fflush(None)
    os._exit(0)


def _flush(*streams: Any) -> None:
    for stream in streams:
        with contextlib.suppress(BaseException):
            stream.flush()
