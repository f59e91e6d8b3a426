"""Processes that are somebody's, wherever they have gone."""

from __future__ import annotations

import contextlib
from pathlib import Path


def processes_with(mark: str, words: str = "") -> list[int]:
    """Whose environment holds the mark, and whose command line, with blanks between its arguments, has the words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
            if mark.encode() in (process / "environ").read_bytes() and words.encode() in command:
                found.append(int(process.name))
    return found
