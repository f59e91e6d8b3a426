"""Unsaved texts of editors, which run in place of their files."""

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
    """Makes imports of these files run their texts, and tracebacks show them."""
    if not texts:
        return
    for path, text in texts.items():
        _texts[path] = _encoded(text)
        # Without a modification time, linecache does not reread the file.
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    whole_get_data, whole_path_stats = SourceFileLoader.get_data, SourceFileLoader.path_stats

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        text = _texts.get(os.path.realpath(path))
        return whole_get_data(self, path) if text is None else text

    def path_stats(self: SourceFileLoader, path: str) -> Any:
        if os.path.realpath(path) in _texts:
            raise OSError("compiled files are of the saved text")  # so that importlib uses none
        return whole_path_stats(self, path)

    SourceFileLoader.get_data = get_data  # type: ignore[method-assign]
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign,assignment]


def _encoded(text: str) -> bytes:
    """Encoded as in a file: its first lines may name an encoding."""
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
