"""When a run has to end: what no longer fits is left out, and named."""

from __future__ import annotations

import math
from time import perf_counter  # before user code can replace it


class Deadline:
    """Counts from its creation. Without one, everything fits."""

    def __init__(self, seconds: float = 0.0) -> None:
        """`seconds`: 0 for no deadline."""
        self.seconds = seconds
        self._end = perf_counter() + seconds if seconds > 0 else math.inf
        self._left_out: dict[str, None] = {}  # in the order in which it came up

    def left(self) -> float:
        """Seconds; below 0 once it has passed."""
        return self._end - perf_counter()

    def allows(self, seconds: float) -> bool:
        return seconds <= self.left()

    def leave_out(self, what: str) -> None:
        """`what`: a noun phrase, for the user."""
        self._left_out[what] = None

    def warning(self) -> str:
        """What was left out, as a sentence; empty: nothing."""
        if not self._left_out:
            return ""
        return f"To end within {self.seconds:g} s, this profile leaves out {'; '.join(self._left_out)}."
