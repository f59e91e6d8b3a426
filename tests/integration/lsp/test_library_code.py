"""The setting `code`: figures in a package's files, which lie outside of the user's code, as an editor opens them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import line_of
from library_project import LibraryProject, library_project

from .editor import Editor
from .project import SETTINGS, cache
from .wire import Daemon, Wire


@pytest.fixture
def project(tmp_path: Path) -> LibraryProject:
    return library_project(tmp_path)


@pytest.fixture
def editor(tmp_path: Path, project: LibraryProject, stdio: Callable[..., tuple[Daemon, Wire]]) -> Iterator[Editor]:
    daemon, wire = stdio(env=cache(tmp_path))
    editor = Editor(wire, project.entry.parent, dict(SETTINGS) | {"batchSizes": [16]})
    editor.begin()
    yield editor
    editor.ask("shutdown")
    wire.notify("exit")
    assert daemon.wait() == 0
    wire.assert_conforms()


def test_figures_are_in_the_files_of_a_package(editor: Editor, project: LibraryProject) -> None:
    document = editor.open(project.entry)
    summary = editor.ask("ridgeline/profile", document)
    assert summary["code"] == [] and "nets" in summary["libraries"]
    library, editable = editor.open(project.net), editor.open(project.editable)
    assert editor.ask("ridgeline/lineCosts", library | {"profileId": summary["profileId"]})["lines"] == []

    editor.configure(code=["nets", "losses"])
    summary = editor.ask("ridgeline/profile", document)
    assert summary["code"] == ["nets", "losses"] and editor.questions[1:] == []
    profile = {"profileId": summary["profileId"]}
    for opened, file, mark in ((library, project.net, "up"), (editable, project.editable, "energy")):
        line = line_of(file, mark) - 1
        costs = {cost["line"]: cost for cost in editor.ask("ridgeline/lineCosts", opened | profile)["lines"]}
        assert costs[line]["timeMs"] > 0
        position = {"line": line, "character": 16}
        hover = editor.ask("textDocument/hover", opened | {"position": position})
        assert "in one iteration, batch 64" in hover["contents"]["value"]
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
        hints = {hint["position"]["line"] for hint in editor.ask("textDocument/inlayHint", opened | {"range": whole})}
        assert line in hints or file == project.editable
    of_library = editor.ask("ridgeline/summary", library)
    assert of_library["uri"] == project.entry.as_uri() and not of_library["stale"]


def test_a_change_of_a_library_makes_its_figures_stale(editor: Editor, project: LibraryProject) -> None:
    document = editor.open(project.entry)
    editor.configure(code=["nets"])
    profile = {"profileId": editor.ask("ridgeline/profile", document)["profileId"]}
    library = editor.open(project.net)
    up = line_of(project.net, "up") - 1
    editor.type_first(project.net.as_uri(), "# a line above\n")
    costs = editor.ask("ridgeline/lineCosts", library | profile)
    assert costs["stale"] and up + 1 in {cost["line"] for cost in costs["lines"]}


def test_the_hover_of_the_calling_line_leads_into_the_library(editor: Editor, project: LibraryProject) -> None:
    document = editor.open(project.entry)
    editor.ask("ridgeline/profile", document)
    position = {"line": line_of(project.entry, "call") - 1, "character": 14}
    text = editor.ask("textDocument/hover", document | {"position": position})["contents"]["value"]
    down = line_of(project.net, "down")
    assert "costliest lines below" in text and "modules below" in text
    assert f"[net.py:{down}]({project.net.as_uri()}#L{down})" in text
    assert "`return x + self.down(" in text and "3 × Block" in text, text


def test_a_request_may_name_the_packages(editor: Editor, project: LibraryProject) -> None:
    document = editor.open(project.entry)
    assert editor.ask("ridgeline/profile", document | {"code": ["single"]})["code"] == ["single"]


@pytest.mark.parametrize("wrong", ["nets", [3], ["a/b"], [""]])
def test_a_request_with_names_that_are_none_is_refused(
    tmp_path: Path, project: LibraryProject, stdio: Callable[..., tuple[Daemon, Wire]], wrong: object
) -> None:
    _, wire = stdio(checked=False, env=cache(tmp_path))
    editor = Editor(wire, project.entry.parent, dict(SETTINGS))
    editor.begin()
    answer = editor.call("ridgeline/profile", editor.open(project.entry) | {"code": wrong})
    assert answer["error"]["code"] == -32602 and "code" in answer["error"]["message"], answer


def test_a_wrong_setting_is_named(editor: Editor) -> None:
    editor.configure(code=["../nets"])
    editor.until(lambda: "window/showMessage" in editor.asked)
