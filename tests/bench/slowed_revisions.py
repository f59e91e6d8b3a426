"""Whether a line that was made slower is found, in examples that a seed draws.

`ridgeline compare --git`: in a repository whose second revision has a line that waits for 5 % of the step; and, beside
it, each revision against itself. `ridgeline check`: against a baseline of the unchanged step, with waits of 5, 20 and
50 %, and with none.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
SEED = 23
EXAMPLES = 3
SHORTEST, LONGEST = 5, 1000  # ms: steps in which 5 % can be told from the clock, and that do not take an hour
ADDED = 0.05  # of the step
CHECKED = (0, 0.05, 0.2, 0.5)  # likewise
BUDGET = """\
[tool.ridgeline.budgets."entry.py"]
baseline = "baseline.json"
max-slowdown = "2 %"
"""
STATUSES = {0: "kept", 1: "exceeded", 4: "undecided"}  # exit statuses of `ridgeline check`


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


def projects(folder: Path) -> Iterator[tuple[str, Path, float]]:
    """Name, entry file and milliseconds of the step, of copies of examples whose steps are neither short nor long."""
    names = sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))
    random.Random(SEED).shuffle(names)
    found = 0
    for name in names:
        if found == EXAMPLES:
            return
        project = folder / name
        shutil.copytree(ROOT / "examples" / name, project, ignore=shutil.ignore_patterns("__pycache__"))
        entry = project / "entry.py"
        step = ridgeline_json("profile", "--seconds", "1", entry)["iteration"]["timeMs"]
        if SHORTEST <= step <= LONGEST:
            found += 1
            yield name, entry, step


def rows(runs: int) -> list[list[str]]:
    found: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, entry, step in projects(Path(folder)):
            project = entry.parent
            git(project, "init", "--quiet")
            git(project, "add", "--all")
            git(project, "commit", "--quiet", "--message", "before")
            entry.write_text(slowed(entry.read_text(), ADDED * step))
            git(project, "commit", "--quiet", "--all", "--message", "after")
            row = [name, f"{step:.3g}"]
            for revisions in ("HEAD~1..HEAD", "HEAD..HEAD"):
                comparison = ridgeline_json("compare", "--git", revisions, "--runs", str(runs), entry)
                row += [change_text(comparison["step"]), lines_that_differ(comparison)]
            found.append(row)
    return found


def check_rows(times: int) -> list[list[str]]:
    """A row for each example and each wait: how many of `times` checks had which outcome."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, entry, step in projects(Path(folder)):
            text = entry.read_text()
            (entry.parent / "pyproject.toml").write_text(BUDGET)
            outcomes: dict[float, list[str]] = {added: [] for added in CHECKED}
            for _ in range(times):
                entry.write_text(text)
                baseline = ridgeline_json("profile", "--seconds", "2", entry)
                (entry.parent / "baseline.json").write_text(json.dumps(baseline))
                for added, seen in outcomes.items():
                    entry.write_text(slowed(text, added * step) if added else text)
                    seen.append(check(entry))
            counts = [Counter(seen).most_common() for seen in outcomes.values()]
            found.append([name, f"{step:.3g}", *(", ".join(f"{n} {what}" for what, n in some) for some in counts)])
    return found


def check(entry: Path) -> str:
    options = ("--project-root", entry.parent, "--python", sys.executable, "--max-seconds", "60")
    command = [str(BINARY), "check", *map(str, options), str(entry)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in STATUSES:
        raise SystemExit(done.stderr)
    return STATUSES[done.returncode]
