"""What an out-of-memory error of torch says in numbers, which only its text has."""

from __future__ import annotations

import re

from ridgeline_runner.common.failure import safe_text

_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = r"([0-9]+(?:\.[0-9]+)?) (bytes|KiB|MiB|GiB|TiB)"
_ASKED = re.compile(rf"tried to allocate {_SIZE}", re.IGNORECASE)
_FREE = re.compile(rf"of which {_SIZE} is free")


def numbers(error: BaseException) -> dict[str, int]:
    """`askedBytes`, and of a device `freeBytes`; each only where the text has it. On a device the text is rounded."""
    text = safe_text(error)
    found = {"askedBytes": _ASKED.search(text), "freeBytes": _FREE.search(text)}
    return {name: round(float(match[1]) * _UNITS[match[2]]) for name, match in found.items() if match is not None}
