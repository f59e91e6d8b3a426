"""What the scripts of this folder print of their checks."""

from __future__ import annotations


def show(checks: dict[str, bool]) -> int:
    """A line for each check, by name. The exit status of a script: 0 where all passed."""
    for name, passed in checks.items():
        print("passed" if passed else "FAILED", name, flush=True)
    return 0 if all(checks.values()) else 1
