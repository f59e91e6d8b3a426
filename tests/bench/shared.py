"""What benchmarks share: the programs that they run, and how tables are printed."""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
BENCHES = Path(os.environ.get("RIDGELINE_BENCHES", ROOT / "build" / "bin"))


def table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def run_json(*command: str | Path) -> Any:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def profile_json(entry: Path, *options: str) -> Any:
    return run_json(BINARY, "profile", entry, "--python", sys.executable, "--format", "json", *options)


class Copied(io.TextIOBase):
    """Prints to another stream, and keeps a copy."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._copy: list[str] = []

    def write(self, text: str) -> int:
        self._copy.append(text)
        return self._to.write(text)

    def flush(self) -> None:
        self._to.flush()

    def text(self) -> str:
        return "".join(self._copy)


def machine() -> str:
    """The machine in words, without its name."""
    try:
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        processor = models[0].partition(":")[2].strip()
    except (OSError, IndexError):
        processor = platform.processor() or platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = f"Python {platform.python_version()}, torch {metadata.version('torch')}"
    return f"{os.cpu_count()} processors of {processor}, {memory:.0f} GiB, {platform.system()}, {versions}"


def commit() -> str | None:
    """The commit that is checked out; None where it is not the whole of what runs, or is not known."""
    git = ["git", "-C", str(ROOT)]
    try:
        changed = subprocess.run(
            [*git, "status", "--porcelain", "-uno", "--", ":!docs"], capture_output=True, check=True
        )
        if changed.stdout:
            return None
        return subprocess.run(
            [*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
