"""What an editor finds when it comes back, and when it knows the files by other names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import Daemon, Wire

Start = Callable[..., tuple[Daemon, Wire]]


def begun(stdio: Start, folder: Path, environment: dict[str, str]) -> Editor:
    _, wire = stdio(env=environment)
    editor = Editor(wire, folder, dict(SETTINGS))
    editor.begin()
    return editor


def ended(editor: Editor) -> None:
    editor.ask("shutdown")
    editor.wire.notify("exit")
    editor.wire.assert_conforms()


def whole(editor: Editor, document: dict[str, Any]) -> dict[str, Any]:
    """All that is shown of a document, but for the profile's age."""
    uri = document["textDocument"]["uri"]
    last = len(editor.texts[uri].splitlines())
    everywhere = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": last, "character": 0}}}
    line = editor.line_of(uri, "self.fc1(")
    summary = editor.ask("ridgeline/summary", document)
    profile = {"profileId": summary["profileId"]}
    return {
        "summary": summary,
        "hints": editor.ask("textDocument/inlayHint", document | everywhere),
        "lenses": editor.ask("textDocument/codeLens", document),
        "hover": editor.ask("textDocument/hover", document | {"position": {"line": line, "character": 25}}),
        "lines": editor.ask("ridgeline/lineCosts", document | profile),
        "breakdown": editor.ask("ridgeline/breakdown", profile),
        "predicted": editor.ask("ridgeline/predict", profile | {"batchSize": 100}),
    }


def test_all_figures_are_there_again(tmp_path: Path, stdio: Start) -> None:
    entry = copy_of_mlp(tmp_path)
    first = begun(stdio, entry.parent, cache(tmp_path))
    document = first.open(entry)
    first.ask("ridgeline/profile", document)
    shown = whole(first, document)
    assert len(shown["hints"]) > 3
    ended(first)
    second = begun(stdio, entry.parent, cache(tmp_path))
    second.open(entry)
    second.until(lambda: second.changes and second.changes[-1]["state"] == "ready")
    assert whole(second, document) == shown
    assert second.questions == []
    ended(second)


def test_a_linked_project_has_its_figures(tmp_path: Path, stdio: Start) -> None:
    """Runs know files by their real paths; the editor is answered with the names that it uses."""
    real = copy_of_mlp(tmp_path)
    os.symlink(real.parent, tmp_path / "link")
    entry = tmp_path / "link" / "entry.py"
    editor = begun(stdio, entry.parent, cache(tmp_path))
    document = editor.open(entry)
    uri = entry.as_uri()
    editor.ask("ridgeline/profile", document)
    shown = whole(editor, document)
    assert shown["summary"]["uri"] == uri
    assert [node["definition"]["uri"] for node in shown["breakdown"]["children"] if node["type"] == "MLP"] == [uri]
    assert len(shown["hints"]) > 3
    assert len(shown["lines"]["lines"]) > 3
    assert {change["uri"] for change in editor.changes} == {uri}
    editor.type_over(uri, "self.relu(self.fc2(hidden))", "self.relu(self.fc2(nothing))")
    assert editor.ask("ridgeline/summary", document)["stale"] is True
    editor.save(entry)
    assert editor.settled()["state"] == "failed"
    errors = lambda: [found for found in editor.diagnostics.get(uri, []) if found["severity"] == 1]  # noqa: E731
    problem = editor.until(errors)[0]
    assert problem["range"]["start"]["line"] == editor.line_of(uri, "nothing")
    ended(editor)


@pytest.mark.parametrize(
    ("old", "new", "code", "place", "words"),
    [
        ("(model.parameters(),", "(list(model.parameters())[2:],", "gradient-never-used", "self.fc1 =", "fc1.weight"),
        pytest.param(
            "= model(images)",
            "= model(images * sum([0] * 10**7 + [1]))",
            "host-bound",
            "batch_size",
            "No operation",
            marks=pytest.mark.long,
        ),
    ],
)
def test_advice_is_of_what_was_measured(
    tmp_path: Path, stdio: Start, old: str, new: str, code: str, place: str, words: str
) -> None:
    entry = copy_of_mlp(tmp_path)
    text = entry.read_text()
    assert old in text
    entry.write_text(text.replace(old, new))
    editor = begun(stdio, entry.parent, cache(tmp_path))
    uri = entry.as_uri()
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    codes = lambda: {d["code"]: d for d in editor.diagnostics.get(uri, [])}  # noqa: E731
    shown = editor.ask("ridgeline/summary", document)
    is_wide = shown["highMs"] - shown["lowMs"] > 0.25 * shown["timeMs"]
    if code == "host-bound" and (is_wide or any("machine was busy" in warning for warning in shown["warnings"])):
        pytest.skip("the timing is unreliable: nothing is advised because of it")
    editor.until(lambda: code in codes())
    found = codes()[code]
    assert found["range"]["start"]["line"] == editor.line_of(uri, place)
    assert words in found["message"]
    ended(editor)


def test_no_advice_of_gradients_that_are_used(tmp_path: Path, stdio: Start) -> None:
    """Also by an optimizer that writes through `.data`, which leaves no trace in the parameter's version."""
    entry = copy_of_mlp(tmp_path)
    text = entry.read_text().replace(
        "optimizer.step()",
        "for parameter in model.parameters():\n            parameter.data.add_(parameter.grad, alpha=-0.01)",
    )
    entry.write_text(text)
    editor = begun(stdio, entry.parent, cache(tmp_path))
    editor.ask("ridgeline/profile", editor.open(entry))
    editor.ask("ridgeline/status", {})
    assert "gradient-never-used" not in {d["code"] for d in editor.diagnostics.get(entry.as_uri(), [])}
    ended(editor)
