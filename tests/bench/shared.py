"""What benchmarks share: the programs that they run, and how tables are printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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
