"""A profile that takes long shows the user's batch size first; two editors on one entry point share one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import Daemon, Wire

SLOW = ("optimizer.zero_grad()", "optimizer.zero_grad(); __import__('time').sleep(0.15)")
NOTED = """
import pathlib

with pathlib.Path(__file__).with_name("loads.txt").open("a") as _file:
    _file.write("loaded\\n")
"""


def slow_entry(editor: Editor) -> tuple[Path, dict[str, Any]]:
    """An entry point whose profile takes some seconds."""
    path = editor.folder / "entry.py"
    path.write_text(path.read_text().replace(*SLOW))
    editor.configure(timeBudget=4)
    return path, editor.open(path)


def first_summary(editor: Editor, document: dict[str, Any]) -> dict[str, Any]:
    """What is known while the profile goes on."""
    editor.until(lambda: any(c["state"] == "ready" and c["profiling"] for c in editor.changes))
    return editor.ask("ridgeline/summary", document)


def test_the_first_figures_are_replaced_by_those_of_the_whole_profile(editor: Editor) -> None:
    _, document = slow_entry(editor)
    profile = editor.wire.begin("ridgeline/profile", document)
    first = first_summary(editor, document)
    assert any("first figures" in warning for warning in first["warnings"]), first["warnings"]
    assert first["sampledBatchSizes"] == {"low": first["batchSize"], "high": first["batchSize"]}
    whole = editor.answer(profile)["result"]
    assert not any("first figures" in warning for warning in whole["warnings"])
    assert whole["sampledBatchSizes"]["low"] < whole["sampledBatchSizes"]["high"]
    assert whole["profileId"] != first["profileId"]
    assert whole["change"] == "", "the first figures are no profile before this one"


def test_a_cancelled_profile_takes_its_first_figures_back(editor: Editor) -> None:
    _, document = slow_entry(editor)
    profile = editor.wire.begin("ridgeline/profile", document)
    first_summary(editor, document)
    editor.wire.notify("$/cancelRequest", {"id": profile})
    assert "error" in editor.answer(profile)
    editor.until(lambda: editor.changes and not editor.changes[-1]["profiling"])
    assert editor.ask("ridgeline/summary", document) is None


def test_a_stored_profile_stays_when_the_one_that_it_replaces_ends(editor: Editor) -> None:
    path = editor.folder / "entry.py"
    document = editor.open(path)
    stored = editor.ask("ridgeline/profile", document)["profileId"]
    editor.configure(saveTimeBudget=4)
    editor.changes.clear()
    editor.type_over(path.as_uri(), *SLOW)
    editor.save(path)
    editor.until(lambda: any(c["profileId"] not in (None, stored) and c["profiling"] for c in editor.changes))
    editor.type_over(path.as_uri(), SLOW[1], SLOW[0])
    editor.save(path)
    editor.until(lambda: not editor.changes[-1]["profiling"] and editor.changes[-1]["state"] == "ready")
    # The run of the slow step is being ended; a request that comes after its end sees what is left.
    editor.ask("ridgeline/report", {"profileId": stored})
    editor.until(lambda: not editor.changes[-1]["profiling"])
    summary = editor.ask("ridgeline/summary", document)
    assert summary["profileId"] == stored
    assert not summary["stale"]


@pytest.fixture
def windows(tmp_path: Path, stdio: Callable[..., tuple[Daemon, Wire]]) -> tuple[Editor, Editor]:
    """Two editors on one project, each with a daemon of its own."""
    entry = copy_of_mlp(tmp_path)
    entry.write_text(entry.read_text().replace(*SLOW) + NOTED)
    editors = []
    for _ in range(2):
        _, wire = stdio(env=cache(tmp_path))
        editors.append(Editor(wire, entry.parent, dict(SETTINGS) | {"timeBudget": 1}))
        editors[-1].begin()
    return editors[0], editors[1]


def loads(editor: Editor) -> int:
    return (editor.folder / "loads.txt").read_text().count("loaded")


def begun(editor: Editor) -> tuple[int, dict[str, Any]]:
    """A profile that runs."""
    document = editor.open(editor.folder / "entry.py")
    number = editor.wire.begin("ridgeline/profile", document)
    editor.until(lambda: any("Recording" in value.get("message", "") for value in editor.progress))
    return number, document


def test_two_windows_share_one_run(windows: tuple[Editor, Editor]) -> None:
    one, other = windows
    first, _ = begun(one)
    second = other.wire.begin("ridgeline/profile", other.open(other.folder / "entry.py"))
    other.until(lambda: any("another window" in value.get("message", "") for value in other.progress))
    answers = one.answer(first)["result"], other.answer(second)["result"]
    assert answers[0]["profileId"] == answers[1]["profileId"]
    assert loads(one) == 1


def test_a_window_runs_the_profile_that_another_one_gave_up(windows: tuple[Editor, Editor]) -> None:
    one, other = windows
    first, _ = begun(one)
    second = other.wire.begin("ridgeline/profile", other.open(other.folder / "entry.py"))
    other.until(lambda: any("another window" in value.get("message", "") for value in other.progress))
    one.wire.notify("$/cancelRequest", {"id": first})
    assert "error" in one.answer(first)
    assert "error" not in other.answer(second)
    assert loads(one) == 2
