"""Describes an error as a message: the kind, the text, and the user's own frames.

The error is the user's object: its `__str__` may raise or return anything. The message is bounded and valid text in any
case.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
import traceback
from types import TracebackType
from typing import Any

_RUNNER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the package
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_EXCEPTION_GROUP: Any = getattr(builtins, "BaseExceptionGroup", ())  # Python 3.11
_CHECK_OF_TORCH = re.compile(r"\[enforce fail at [^\]]*\][^.]*\. ?")  # means nothing to users
_MAX_TEXT = 8192
_MOST_REASON = 300  # characters
_MAX_LINE = 500
_MAX_CAUSES = 4


class Failure(Exception):
    """A mistake in the entry point that needs no traceback to be understood.

    `kind` is one of the codes in docs/user/errors.md; `line` is the place in the entry file, when there is one.
    """

    def __init__(self, kind: str, message: str, *, line: int | None = None, file: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.line = line
        self.file = file


def describe(error: BaseException, stage: str, batch_size: int | None = None, *, advise: bool = True) -> dict[str, Any]:
    """The error as a message for the daemon, without the runner's frames."""
    kind = kind_of(error)
    message: dict[str, Any] = {
        "type": "failure",
        "kind": kind,
        "stage": stage,
        "message": _text(error) + (_advice(error, kind) if advise else "") + _causes(error),
        "exception": _name(error),
        "frames": _frames(error.__traceback__),
    }
    if batch_size is not None:
        message["batchSize"] = batch_size
    if isinstance(error, Failure) and error.line is not None:
        message["frames"] = [_frame(error.file, error.line, "", "")]
    if isinstance(error, SyntaxError) and error.filename is not None:
        message["frames"].append(_frame(error.filename, error.lineno, "", error.text))
    return message


def summary(error: BaseException) -> str:
    """The first line of the error's text, and the user's line, to be part of a sentence."""
    return _text(error).partition("\n")[0][:_MAX_LINE] + _place(error)


def reason_of(error: BaseException) -> str:
    """One line, for a table."""
    return (summary(error).strip().splitlines() or [type(error).__name__])[0][:_MOST_REASON]


def release(error: BaseException) -> None:
    """Drops the frames of the error and of what it was raised from: they hold the step's tensors."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        part = waiting.pop()
        if part is not None and id(part) not in seen:
            seen.add(id(part))
            part.__traceback__ = None
            waiting += [part.__cause__, part.__context__]


def kind_of(error: BaseException) -> str:
    if isinstance(error, Failure):
        return error.kind
    if is_out_of_memory(error):
        return "out-of-memory"
    if isinstance(error, SyntaxError):
        return "syntax-error"
    if isinstance(error, ImportError):
        return "import-error"
    from ridgeline_runner.common import missing_cuda  # imports torch, which may be missing where no run is

    if missing_cuda.is_the_cause(error, safe_text(error)):
        return "no-cuda"
    if isinstance(error, SystemExit):
        return "exit"
    return "exception"


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    text = safe_text(error)
    return "can't allocate memory" in text or "not enough memory" in text or "out of memory" in text.lower()


def safe_text(value: object, limit: int = _MAX_TEXT) -> str:
    """`str(value)` as valid and bounded text, whatever the object does."""
    try:
        return _plain(str.__getitem__(str(value), slice(limit)))
    except BaseException as error:  # noqa: BLE001 - the object is the user's
        return f"<its __str__ raised {_name(error)}>"


def safe_repr(value: object) -> str:
    """`repr(value)`, short, whatever the object does."""
    try:
        return safe_text(repr(value), 80)
    except BaseException as error:  # noqa: BLE001 - the object is the user's
        return f"<its __repr__ raised {_name(error)}>"


def _plain(text: str) -> str:
    """The text as a plain str, without lone surrogates, which no message can carry."""
    return str.encode(text, "utf-8", "backslashreplace").decode()


def _name(error: BaseException) -> str:
    return _plain(type.__dict__["__name__"].__get__(type(error)))[:_MAX_LINE]


def _text(error: BaseException) -> str:
    text = safe_text(error)
    if isinstance(error, Failure):
        return text
    if isinstance(error, SystemExit):
        return f"The code called sys.exit({safe_repr(error.code)})"
    text = _CHECK_OF_TORCH.sub("", text)
    return f"{_name(error)}: {text}" if text else _name(error)


def _advice(error: BaseException, kind: str) -> str:
    """What to do about errors whose own text does not explain it."""
    if kind == "no-cuda":
        from ridgeline_runner.common import missing_cuda

        return f". {missing_cuda.advice().rstrip('.')}"
    if isinstance(error, ModuleNotFoundError):
        return (
            f". It is neither beside the entry file, nor in the project root, nor in {sys.executable}: install it"
            " there, or name another interpreter with --python"
        )
    if isinstance(error, EOFError):
        return ". A profile has no standard input: code that reads it must not run in an entry point"
    if is_out_of_memory(error):
        return ". Use a smaller batch size, or raise --memory-limit if the machine has more"
    if isinstance(error, SystemExit):
        return ". A profile needs the code to go on: guard the call with `if __name__ == '__main__':`"
    return ""


def _causes(error: BaseException) -> str:
    """What the error was raised from, and the errors of a group, one line each."""
    lines = []
    if isinstance(error, _EXCEPTION_GROUP):
        lines = ["  one of them: " + summary(part) for part in error.exceptions[:_MAX_CAUSES]]
    cause: BaseException | None = error
    while cause is not None and len(lines) < _MAX_CAUSES:
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
        if cause is not None:
            lines.append("  after " + summary(cause))
    return "".join("\n" + line for line in lines)


def _place(error: BaseException) -> str:
    """The innermost line outside of installed packages, such as ` (entry.py:12)`."""
    for frame in reversed(_frames(error.__traceback__)):
        if "/site-packages/" not in frame["file"] and not frame["file"].startswith(_STANDARD_LIBRARY):
            return f" ({os.path.basename(frame['file'])}:{frame['line']})"
    return ""


def _frames(trace: TracebackType | None) -> list[dict[str, Any]]:
    frames = [
        _frame(frame.filename, frame.lineno, frame.name, frame.line)
        for frame in traceback.extract_tb(trace)
        if not frame.filename.startswith((_RUNNER, "<frozen importlib"))
    ]
    return frames[:20] + frames[-40:] if len(frames) > 60 else frames


def _frame(file: object, line: object, function: object, text: object) -> dict[str, Any]:
    return {
        "file": safe_text(file, 4096),
        "line": line if isinstance(line, int) and 0 <= line < 1 << 31 else 0,
        "function": safe_text(function, _MAX_LINE),
        "text": safe_text("" if text is None else text, _MAX_LINE).strip(),
    }
