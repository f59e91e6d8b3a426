"""What editors hold that is not saved: run instead of what the files hold."""

from __future__ import annotations

import io
import linecache
import os
import tokenize
from importlib.machinery import SourceFileLoader
from typing import Any

_MAX_SOURCE = 16 << 20
_texts: dict[str, bytes] = {}  # by real path


def install(texts: dict[str, str]) -> None:
    """From now on importing one of these files runs its text, and tracebacks show it."""
    if not texts:
        return
    for path, text in texts.items():
        _texts[path] = _encoded(text)
        # Without a time of modification, linecache does not read the file again.
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    whole_get_data, whole_path_stats = SourceFileLoader.get_data, SourceFileLoader.path_stats

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        text = _texts.get(os.path.realpath(path))
        return whole_get_data(self, path) if text is None else text

    def path_stats(self: SourceFileLoader, path: str) -> Any:
        if os.path.realpath(path) in _texts:
            raise OSError("compiled files are of what was saved")  # then importlib looks for none
        return whole_path_stats(self, path)

    SourceFileLoader.get_data = get_data  # type: ignore[method-assign]
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign,assignment]


def _encoded(text: str) -> bytes:
    """As Python would read it from a file, whose first lines may name an encoding."""
    encoded = text.encode(errors="replace")
    try:
        return text.encode(tokenize.detect_encoding(io.BytesIO(encoded).readline)[0])
    except (SyntaxError, LookupError, UnicodeEncodeError):
        return encoded


def source_of(path: str) -> bytes:
    """The content of the file, or of its overlay. At most 16 MiB of it.

    Raises OSError when it cannot be read.
    """
    text = _texts.get(os.path.realpath(path))
    if text is not None:
        return text
    with open(path, "rb") as source:
        return source.read(_MAX_SOURCE)
