"""What went wrong, as a message: the kind, the words, and the user's own frames."""

from __future__ import annotations

import os
import traceback
from types import TracebackType
from typing import Any

from ridgeline_runner import missing_cuda

_RUNNER = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    """A mistake in the entry point that needs no traceback to be understood.

    `kind` is one of the codes in docs/errors.md; `line` is the place in the entry file, when there is one.
    """

    def __init__(self, kind: str, message: str, *, line: int | None = None, file: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.line = line
        self.file = file


def describe(error: BaseException, stage: str, batch_size: int | None = None) -> dict[str, Any]:
    """The error as a message for the daemon. The frames of the runner are left out."""
    kind = kind_of(error)
    message: dict[str, Any] = {
        "type": "failure",
        "kind": kind,
        "stage": stage,
        "message": _words(error, kind),
        "exception": type(error).__name__,
        "frames": _frames(error.__traceback__),
    }
    if batch_size is not None:
        message["batchSize"] = batch_size
    if isinstance(error, Failure) and error.line is not None:
        message["frames"] = [{"file": error.file, "line": error.line, "function": "", "text": ""}]
    if isinstance(error, SyntaxError) and error.filename is not None:
        message["frames"].append(
            {"file": error.filename, "line": error.lineno or 1, "function": "", "text": (error.text or "").strip()}
        )
    return message


def kind_of(error: BaseException) -> str:
    if isinstance(error, Failure):
        return error.kind
    if is_out_of_memory(error):
        return "out-of-memory"
    if isinstance(error, SyntaxError):
        return "syntax-error"
    if isinstance(error, ImportError):
        return "import-error"
    if missing_cuda.is_the_cause(error):
        return "no-cuda"
    if isinstance(error, SystemExit):
        return "exit"
    return "exception"


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "can't allocate memory" in text or "not enough memory" in text or "out of memory" in text.lower()
    )


def _words(error: BaseException, kind: str) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, Failure):
        return text
    words = f"{type(error).__name__}: {text}"[:8192]
    return f"{words.rstrip('. ')}. {missing_cuda.advice()}" if kind == "no-cuda" else words


def _frames(trace: TracebackType | None) -> list[dict[str, Any]]:
    frames = [
        {"file": frame.filename, "line": frame.lineno or 0, "function": frame.name, "text": frame.line or ""}
        for frame in traceback.extract_tb(trace)
        if not frame.filename.startswith((_RUNNER, "<frozen importlib"))
    ]
    return frames[:20] + frames[-40:] if len(frames) > 60 else frames
