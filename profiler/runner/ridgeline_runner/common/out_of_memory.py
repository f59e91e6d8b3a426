"""What an out-of-memory error of torch says in numbers, which only its text has."""

from __future__ import annotations

import re

from ridgeline_runner.common.failure import safe_text

_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = r"([0-9]+(?:\.[0-9]+)?) (bytes|KiB|MiB|GiB|TiB)"
_ASKED = re.compile(rf"tried to allocate {_SIZE}", re.IGNORECASE)
_ALLOCATED = re.compile(rf"of the allocated memory {_SIZE} is allocated by PyTorch", re.IGNORECASE)
_FREE = re.compile(rf"of which {_SIZE} is free")


def numbers(error: BaseException) -> dict[str, int]:
    """`askedBytes`, and of a device `freeBytes` and `allocatedBytes`; each only where the text has it. On a device the
    text is rounded."""
    text = safe_text(error)
    patterns = {"askedBytes": _ASKED, "freeBytes": _FREE, "allocatedBytes": _ALLOCATED}
    found = {name: pattern.search(text) for name, pattern in patterns.items()}
    return {name: round(float(match[1]) * _UNITS[match[2]]) for name, match in found.items() if match is not None}
