"""walk.py [PROJECT...]: the walk of tests/editors/vscode/walk.mjs in Neovim, as JSON: commands and keys, and seconds.

Screens are kept as text in build/pictures.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import conftest

ROOT = conftest.ROOT
PROJECTS = ROOT / "tests" / "editors" / "walk"
PICTURES = ROOT / "build" / "pictures"


LIST = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('ridgeline://what-if'), 0, -1, false), '\\n')"


class Walk:
    def __init__(self, terminal: conftest.Terminal, name: str) -> None:
        self.terminal, self.name = terminal, name
        self.keys = 0  # commands, and keys in Ridgeline's windows
        self.waits: dict[str, float] = {}
        self.answers: dict[str, str] = {}
        self.failure = ""

    def command(self, words: str) -> None:
        self.keys += 1
        self.terminal.command(words)

    def press(self, *keys: str) -> None:
        self.keys += len(keys)
        self.terminal.keys(*keys)

    def wait(self, what: str, pattern: str) -> str:
        began = time.monotonic()
        found = self.terminal.until(pattern)
        self.waits[what] = round(time.monotonic() - began, 1)
        return found[0]

    def picture(self, step: str) -> None:
        (PICTURES / f"walk-neovim-{self.name}-{step}.txt").write_text(self.terminal.screen())


def walk(walk: Walk) -> None:
    terminal = walk.terminal
    walk.command("Ridgeline profile")
    terminal.until("Type number")
    walk.press("1")
    terminal.keys("Enter")
    walk.wait("profile", "profiled: .*")
    walk.answers["profiled"] = terminal.until("profiled: .*")[0]
    walk.picture("1-profiled")
    walk.command("Ridgeline costliest")
    walk.answers["costliest"] = terminal.until(r"\|\d+ col.*|\|\d+\|.*")[0]
    walk.picture("2-costliest")
    walk.command("cclose")
    walk.command("Ridgeline breakdown")
    terminal.until("iteration")
    walk.picture("3-breakdown")
    walk.press("q")
    walk.command("Ridgeline bars")
    terminal.until("▸ throughput")
    walk.answers["bars"] = terminal.screen()[-900:]
    walk.picture("4-bars")
    walk.press("q")
    walk.command("Ridgeline what-if")
    began = time.monotonic()
    terminal.remote.until(
        f"vim.fn.bufnr('ridgeline://what-if') ~= -1 and {LIST}:find('Predicted from the recorded step', 1, true)"
    )
    walk.waits["what-if"] = round(time.monotonic() - began, 1)
    walk.picture("5-asked")
    row = best_change(walk)
    if not row:
        walk.command("quit")
        walk.command("Ridgeline bars")
        terminal.until("▸ throughput")
        walk.press("L", "L")
        terminal.remote.until("vim.bo[vim.fn.bufnr('train.py')].modified")
        walk.picture("8-applied")
        walk.press("q")
        measure_again(walk)
        return
    terminal.keys("gg", f"/{row}", "Enter")
    walk.press("t")
    walk.wait("try", "TRIED")
    walk.picture("6-tried")
    walk.press("a")
    screen = terminal.until("written: |as the diff shows|not written|cannot|for you to write")[0]
    if "for you to write" in screen:
        walk.picture("8-refused")
        return
    if "diff" in screen:
        walk.picture("7-diff")
        walk.press("w")
        terminal.until("written: ")
    walk.picture("8-applied")
    terminal.keys("C-w", "t")
    measure_again(walk)


def measure_again(walk: Walk) -> None:
    walk.command("wall")
    walk.command("Ridgeline profile")
    walk.wait("measured", r"Applied: .*|measured  .*|profiled: .*")
    walk.picture("9-measured")


def best_change(walk: Walk) -> str:
    """The title of the first row that `a` can write and that may be faster, as the list has it."""
    lines = walk.terminal.remote.lua(LIST)
    walk.answers["what-if"] = lines
    titles = ("fused optimizer", "foreach optimizer", "bfloat16 autocast", "channels_last", "workers")
    offered = lines.partition("No gain")[0]
    rows = [line.strip() for line in offered.splitlines() if any(title in line for title in titles)]
    rows = [row for row in rows if "as fast" not in row]
    return rows[0].split("  ")[0] if rows else ""


def walked(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / name
        shutil.copytree(PROJECTS / name, project)
        with conftest.Terminal(
            Path(folder),
            project / "train.py",
            columns=118,
            lines=40,
            RIDGELINE_BATCH_SIZES="[]",
            RIDGELINE_TIME_BUDGET="10",
        ) as terminal:
            one = Walk(terminal, name)
            try:
                terminal.until("import ")
                walk(one)
            except AssertionError as error:
                one.failure = str(error)[:300]
                one.picture("failed")
            return {"name": name, "keys": one.keys, "waits": one.waits, "answers": one.answers, "failure": one.failure}


if __name__ == "__main__":
    conftest.PATIENCE = 240
    conftest.PYTHON = os.environ.get("WALK_PYTHON", conftest.PYTHON)
    PICTURES.mkdir(parents=True, exist_ok=True)
    names = sys.argv[1:] or sorted(path.name for path in PROJECTS.iterdir())
    for name in names:
        print(json.dumps(walked(name)), flush=True)
