"""Which files a script writes: whoever runs it again must know.

An audit hook of the interpreter: it sees what Python code opens for writing, makes, renames and removes, and not what
native code opens itself. Imported at the start of a process, before torch and the user's code: nothing heavy here.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

_MOST_PATHS = 16
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FIRST_IS_WRITTEN = {"os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.utime", "os.chmod", "os.setxattr"}
_BOTH_ARE_WRITTEN = {"os.rename", "shutil.move"}
_SECOND_IS_WRITTEN = {"os.link", "os.symlink"}

_paths: dict[str, None] = {}
_watching = False
_spared: tuple[str, ...] = ()


def watch() -> None:
    """From now on, to the end of the process: an audit hook cannot be removed."""
    global _watching, _spared
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folders = {tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev", "/proc", "/run", cache}
    _spared = tuple(real.rstrip("/") + "/" for real in map(os.path.realpath, folders) if real != "/")
    _watching = True
    sys.addaudithook(_on_event)


def paths() -> list[str]:
    """The first of them; empty when nothing was written, or watch() was not called."""
    return list(_paths)


def note(path: Any) -> None:
    """Something is written there, unless it is a temporary or cached file."""
    if not _watching or not isinstance(path, (str, bytes, os.PathLike)):
        return
    real = os.path.realpath(os.fsdecode(path))
    if "/__pycache__/" in real + "/" or real.startswith(_spared):
        return
    _paths[real] = None


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if len(_paths) >= _MOST_PATHS:
        return
    try:
        _look_at(event, arguments)
    except (OSError, ValueError):  # what it raised would be raised at the user's line
        return


def _look_at(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, mode, flags = arguments
        if (isinstance(mode, str) and any(letter in mode for letter in "wax+")) or (
            isinstance(flags, int) and flags & _WRITING
        ):
            note(path)
    elif event in _FIRST_IS_WRITTEN:
        note(arguments[0])
    elif event in _SECOND_IS_WRITTEN:
        note(arguments[1])
    elif event in _BOTH_ARE_WRITTEN:
        note(arguments[0])
        note(arguments[1])
    elif event == "sqlite3.connect" and arguments[0] != ":memory:":
        note(arguments[0])
