"""A batch size that a user settles on is tried in the background and its figure replaced; without consent it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ridgeline

from .editor import Editor
from .project import cache, copy_of_mlp

SIZE = "batch_size: int = "


def counting(entry: Path) -> Path:
    """Has an entry leave a line in a file each time that its code runs."""
    runs = entry.parent / "runs"
    runs.touch()
    entry.write_text(f"with open({str(runs)!r}, 'a') as runs:\n    runs.write('ran\\n')\n" + entry.read_text())
    return runs


def gated(entry: Path) -> Path:
    """Has an entry's code wait wherever it runs while the returned file is missing, however fast the machine is."""
    gate = entry.parent / "gate"
    gate.touch()
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.01)\n"
    entry.write_text(wait + entry.read_text())
    return gate


def count(runs: Path) -> int:
    return len(runs.read_text().splitlines())


def held(folder: Path) -> dict[str, str]:
    return {"RIDGELINE_CACHE": cache(folder)["RIDGELINE_CACHE"]}


def last(editor: Editor, uri: str) -> dict[str, Any]:
    return next((change for change in reversed(editor.changes) if change["uri"] == uri), {})


def trial(editor: Editor, uri: str) -> dict[str, Any]:
    return last(editor, uri).get("trial") or {}


def tried(editor: Editor, uri: str, revision: int) -> None:
    """Waits for the end of so many trials that have seen something."""
    editor.until(lambda: last(editor, uri).get("revision") == revision and not trial(editor, uri).get("running"))


def predicted(editor: Editor, batch_size: int, document: dict[str, Any]) -> dict[str, Any]:
    profile = editor.ask("ridgeline/summary", document)["profileId"]
    return editor.ask("ridgeline/predict", {"profileId": profile, "batchSize": batch_size})["batch"]


def lens(editor: Editor, document: dict[str, Any], words: str) -> str:
    titles = [lens["command"]["title"] for lens in editor.ask("textDocument/codeLens", document)]
    return next((title for title in titles if words in title), "")


def shown(editor: Editor, document: dict[str, Any]) -> tuple[str, str]:
    """The hint at the batch size, and the hover over the provider."""
    uri = document["textDocument"]["uri"]
    line = editor.line_of(uri, "def input_provider")
    place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    hints = editor.ask("textDocument/inlayHint", document | {"range": place})
    hover = editor.ask("textDocument/hover", document | {"position": {"line": line, "character": 6}})
    return " ".join(hint["label"] for hint in hints), hover["contents"]["value"]


def test_the_measured_figure_replaces_the_predicted_one(editor: Editor, tmp_path: Path) -> None:
    entry = editor.folder / "entry.py"
    gate = gated(entry)
    runs = counting(entry)
    document = editor.open(entry)
    uri = entry.as_uri()
    before = editor.ask("ridgeline/profile", document)
    ran = count(runs)
    editor.asked.clear()
    editor.progress.clear()
    gate.unlink()
    for size in range(65, 97):  # a bar is dragged; nothing runs until it rests
        editor.ask("ridgeline/setBatchSize", document | {"batchSize": size})
    batch = predicted(editor, 96, document)
    assert batch["measured"] is None
    assert "predicted" in lens(editor, document, "Batch 96: ")
    hint, hover = shown(editor, document)
    assert "predicted" in hint
    assert "**batch 96** — predicted" in hover
    editor.until(lambda: trial(editor, uri).get("running"))
    assert trial(editor, uri) == {"batchSize": 96, "running": True, "message": "batch size 96 is being tried"}
    assert "being tried" in lens(editor, document, "Batch 96: ")

    gate.touch()
    tried(editor, uri, 1)
    assert count(runs) == ran + 1
    after = editor.ask("ridgeline/summary", document)
    assert (after["profileId"], after["revision"], after["trial"]) == (before["profileId"], 1, None)
    measured = predicted(editor, 96, document)["measured"]
    assert measured["origin"] == "trial"
    assert measured["lowMs"] <= measured["timeMs"] <= measured["highMs"]
    assert measured["peakBytes"] == pytest.approx(batch["peakBytes"]["value"], rel=0.05)
    assert [m["batchSize"] for m in after["measured"]] == [16, 32, 64, 96]
    most = after["maxSamplesPerSecond"]  # None: the times were too noisy for a model
    assert most is None or all(1000 * m["batchSize"] / m["timeMs"] <= most * 1.000001 for m in after["measured"])
    ladder = editor.ask("ridgeline/predictions", {"profileId": after["profileId"]})["batches"]
    assert next(one for one in ladder if one["batchSize"] == 96)["measured"] == measured
    assert lens(editor, document, "Batch 96: ").endswith("measured")
    hint, hover = shown(editor, document)
    assert "measured" in hint
    assert "**batch 96** — measured" in hover
    # Quiet: no bar, no message, no question.
    assert editor.progress == []
    assert not [method for method in editor.asked if method.startswith("window/")]
    # And it is known wherever the profile is: other processes read it from the cache.
    answer = ridgeline("predict", entry, "--python", PYTHON, "--batch-size", "96", "--format", "json",
                       **held(tmp_path))  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert told["profile"]["stored"] is True
    assert told["answer"]["measured"] == measured
    assert count(runs) == ran + 1


def test_without_consent_nothing_runs(editor: Editor, tmp_path: Path) -> None:
    """There are figures, of a profile on the command line; that the editor may run the code, nobody has said."""
    (tmp_path / "other").mkdir()
    stranger = copy_of_mlp(tmp_path / "other")
    runs = counting(stranger)
    made = ridgeline("profile", stranger, "--python", PYTHON, "--batch-sizes", "16,32", "--seconds", "1",
                     **held(tmp_path))  # fmt: skip
    assert made.returncode == 0, made.stderr
    ran = count(runs)
    trusted = editor.folder / "entry.py"
    document = editor.open(trusted)
    editor.ask("ridgeline/profile", document)
    there = editor.open(stranger)
    editor.until(lambda: last(editor, stranger.as_uri()).get("state") == "ready")
    editor.type_over(stranger.as_uri(), f"{SIZE}64", f"{SIZE}96")
    editor.type_over(trusted.as_uri(), f"{SIZE}64", f"{SIZE}96")  # settles after the other one
    tried(editor, trusted.as_uri(), 1)
    assert count(runs) == ran
    assert predicted(editor, 96, there)["measured"] is None
    assert last(editor, stranger.as_uri())["trial"] is None
    assert len(editor.questions) == 1  # of the profile


def test_what_is_asked_for_goes_first(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    gate = gated(entry)
    document = editor.open(entry)
    uri = entry.as_uri()
    editor.ask("ridgeline/profile", document)
    gate.unlink()
    editor.type_over(uri, f"{SIZE}64", f"{SIZE}96")
    editor.until(lambda: trial(editor, uri).get("running"))
    editor.type_over(uri, f"{SIZE}96", f"{SIZE}80")  # another size: the first one is given up
    editor.until(lambda: trial(editor, uri).get("batchSize") == 80)
    assert predicted(editor, 96, document)["measured"] is None
    number = editor.wire.begin("ridgeline/profile", document)  # of 80 itself, while it is tried
    gate.touch()
    summary = editor.answer(number)["result"]
    assert summary["batchSize"] == 80
    assert summary["trial"] is None
    assert last(editor, uri)["revision"] == 0
    gate.unlink()
    editor.type_over(uri, f"{SIZE}80", f"{SIZE}96")
    editor.until(lambda: trial(editor, uri).get("running"))
    editor.ask("workspace/executeCommand", {"command": "ridgeline.cancel", "arguments": [uri]})
    editor.until(lambda: last(editor, uri)["trial"] is None)
    assert predicted(editor, 96, document)["measured"] is None


def test_what_fails_is_an_observation(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    fails = "    if batch_size > 90:\n        raise MemoryError('the batch is too large')\n"
    text = entry.read_text()
    entry.write_text(text.replace("    generator = torch.Generator()", fails + "    generator = torch.Generator()"))
    document = editor.open(entry)
    uri = entry.as_uri()
    editor.ask("ridgeline/profile", document)
    editor.asked.clear()
    editor.type_over(uri, f"{SIZE}64", f"{SIZE}96")
    tried(editor, uri, 1)
    batch = predicted(editor, 96, document)
    assert (batch["measured"], batch["fits"], batch["failed"]["kind"]) == (None, False, "out-of-memory")
    assert "ran out of memory when it was run" in lens(editor, document, "Batch 96: ")
    editor.until(lambda: [d for d in editor.diagnostics[uri] if d["code"] == "will-not-fit"])
    assert not [method for method in editor.asked if method.startswith("window/")]
    assert last(editor, uri)["failure"] is None


def test_what_is_not_tried_says_why(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    uri = entry.as_uri()
    editor.ask("ridgeline/profile", document)
    editor.type_over(uri, f"{SIZE}64", f"{SIZE}16777216")
    editor.until(lambda: "not tried" in trial(editor, uri).get("message", ""))
    assert trial(editor, uri)["running"] is False
    assert "not tried" in shown(editor, document)[1]
    editor.type_over(uri, f"{SIZE}16777216", f"{SIZE}64")
    editor.until(lambda: last(editor, uri)["trial"] is None)
