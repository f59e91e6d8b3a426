"""Whether `ridgeline compare --git` finds a line that was made slower: examples in a repository of their own, in which
the second revision has a line that waits for 5 % of the step; and, beside it, each revision against itself.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
SEED = 23
EXAMPLES = 3
SHORTEST, LONGEST = 5, 1000  # ms: steps in which 5 % can be told from the clock, and that do not take an hour
ADDED = 0.05  # of the step


def git(folder: Path, *arguments: str) -> None:
    own = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    subprocess.run(["git", "-C", folder, *own, *arguments], check=True, stdout=subprocess.DEVNULL)


def ridgeline_json(*arguments: str | Path) -> Any:
    command = [str(BINARY), *map(str, arguments), "--python", sys.executable, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def slowed(text: str, added_ms: float) -> str:
    """The entry point with a wait at the beginning of its iteration."""
    head, begin, body = text.partition("    def iteration(")
    signature, colon, body = body.partition(":\n")
    if not begin or not colon:
        raise ValueError("the entry point has no iteration")
    wait = f"        end = time.perf_counter() + {added_ms / 1e3!r}\n        while time.perf_counter() < end: pass\n"
    return "import time\n" + head + begin + signature + colon + wait + body


def change_text(change: dict[str, Any]) -> str:
    """The outcome, and the interval of the change in percent."""
    interval = change["interval"]
    known = f" ({100 * interval['low']:+.1f} to {100 * interval['high']:+.1f} %)" if interval else ""
    return change["outcome"] + known


def lines_that_differ(comparison: dict[str, Any]) -> str:
    """Their texts, in the later revision."""
    found = [line["afterText"] for line in comparison["lines"] if line["time"] and line["time"]["outcome"] == "differs"]
    return ", ".join(f"`{text}`" for text in found) or "none"


def rows(runs: int) -> list[list[str]]:
    names = sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))
    random.Random(SEED).shuffle(names)
    found: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if len(found) == EXAMPLES:
                break
            project = Path(folder) / name
            shutil.copytree(ROOT / "examples" / name, project, ignore=shutil.ignore_patterns("__pycache__"))
            entry = project / "entry.py"
            git(project, "init", "--quiet")
            git(project, "add", "--all")
            git(project, "commit", "--quiet", "--message", "before")
            step = ridgeline_json("compare", "--git", "HEAD..HEAD", "--runs", "2", entry)["step"]["beforeMs"]
            if not SHORTEST <= step <= LONGEST:
                continue
            entry.write_text(slowed(entry.read_text(), ADDED * step))
            git(project, "commit", "--quiet", "--all", "--message", "after")
            row = [name, f"{step:.3g}"]
            for revisions in ("HEAD~1..HEAD", "HEAD..HEAD"):
                comparison = ridgeline_json("compare", "--git", revisions, "--runs", str(runs), entry)
                row += [change_text(comparison["step"]), lines_that_differ(comparison)]
            found.append(row)
    return found
