"""What changes of the step would bring, from an editor: predicted, tried, known until the code changes."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from .editor import Editor
from .test_trials import count, counting

OPTIMIZERS = [["foreach-optimizer"], ["fused-optimizer"]]


def rows_of(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"+".join(row["change"]): row for row in answer["changes"]}


def test_changes_are_predicted_and_tried_and_known_until_a_save(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    runs = counting(entry)
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    editor.progress.clear()
    ask = document | {"changes": OPTIMIZERS, "workDoneToken": "w", "partialResultToken": "p"}
    answer = editor.ask("ridgeline/whatIf", ask)
    assert answer["uri"] == entry.as_uri()
    rows = rows_of(answer)
    first = [row for part in editor.parts for row in part["changes"]]
    assert [row["change"] for row in first[:2]] == OPTIMIZERS  # what the recording says, without running anything
    assert all(row["predictedText"] and row["predicted"]["byRule"] for row in first[:2])
    assert sorted(row["change"] for row in first[2:]) == OPTIMIZERS  # from the operations that differ
    assert all(row["tried"] is None and set(row) == set(answer["changes"][0]) for row in first)
    assert set(rows) == {"foreach-optimizer", "fused-optimizer"}
    for row in rows.values():
        assert row["applies"], row
        # On a busy machine too few operations may have been measured.
        assert row["predictedText"] or re.search("could not be timed|varies too much", row["certaintyText"]), row
        assert row["peakText"] and row["takes"]
        assert row["tried"] is None and row["triedText"] == row["lossText"] == ""
    assert answer["tryText"].startswith("To be certain, try them: about ")
    assert [value["kind"] for value in editor.progress if value["kind"] != "report"] == ["begin", "end"]
    assert editor.questions and len(editor.questions) == 1  # asked once, for the profile

    tried = editor.ask("ridgeline/try", document | {"change": ["fused-optimizer"]})
    assert tried["change"] == ["fused-optimizer"]
    assert tried["tried"]["speedUp"]["value"] > 0 and tried["triedText"] and tried["lossText"]
    assert tried["predictedText"] == rows["fused-optimizer"]["predictedText"].replace(": try it", "")

    # What is known is answered at once, without running the code; a trial stays beside its prediction.
    ran = count(runs)
    again = editor.ask("ridgeline/whatIf", document | {"changes": OPTIMIZERS})
    assert count(runs) == ran
    assert rows_of(again)["fused-optimizer"]["triedText"] == tried["triedText"]

    # A save drops what is known.
    editor.save(entry)
    ran = count(runs)
    editor.ask("ridgeline/whatIf", document | {"changes": OPTIMIZERS[:1]})
    assert count(runs) > ran


def test_an_edited_entry_is_profiled_first(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    first = editor.ask("ridgeline/profile", document)
    editor.type_over(entry.as_uri(), "lr=0.01", "lr=0.02")
    editor.progress.clear()
    answer = editor.ask("ridgeline/whatIf", document | {"changes": [["foreach-optimizer"]]})
    assert rows_of(answer)["foreach-optimizer"]["applies"]
    second = editor.ask("ridgeline/summary", document)
    assert second["profileId"] != first["profileId"] and not second["stale"]
    titles = [value["title"] for value in editor.progress if value["kind"] == "begin"]
    assert titles == ["Profiling entry.py", "What if: entry.py"]


def test_a_text_that_no_socket_holds_at_once_runs(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    editor.type_first(entry.as_uri(), 10_000 * f"# {60 * 'x'}\n")
    assert editor.ask("ridgeline/profile", document)["timeMs"] > 0


def test_a_change_is_written_as_an_edit_and_profiled(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    uri = entry.as_uri()
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    answer = editor.ask("ridgeline/whatIf", document | {"changes": [["fused-optimizer"], ["compile"]]})
    assert {name: row["canBeWritten"] for name, row in rows_of(answer).items()} == {
        "fused-optimizer": True,
        "compile": False,
    }
    refused = editor.ask("ridgeline/changeEdit", document | {"change": ["compile"]})
    assert refused["edit"] is None and refused["noEditReason"]

    def write(change: list[str]) -> None:
        edit = editor.ask("ridgeline/changeEdit", document | {"change": change})["edit"]
        assert editor.result_of("workspace/applyEdit", {"edit": edit}) == {"applied": True}

    write(["fused-optimizer"])
    assert "momentum=0.9, fused=True)" in editor.texts[uri]
    assert editor.ask("ridgeline/summary", document)["applied"] is None  # the figures are still those of before
    applied = editor.ask("ridgeline/profile", document)["applied"]  # the edited text runs
    known = rows_of(answer)["fused-optimizer"]
    assert (applied["title"], applied["predictedText"]) == (known["title"], known["predictedText"])
    assert applied["triedText"] == "" and re.match(
        r"(no (clear )?change|[\d.]+× (faster|as fast)) \([\d.]+–", applied["measuredText"]
    )
    again = rows_of(editor.ask("ridgeline/whatIf", document | {"changes": [["fused-optimizer"]]}))
    assert not again["fused-optimizer"]["applies"]

    write(["bf16-autocast"])
    lines = editor.texts[uri].splitlines()
    at = lines.index('        with torch.autocast("cpu", dtype=torch.bfloat16):')
    assert lines[at + 1 : at + 4] == [
        "            logits = model(images)",
        "            loss = loss_function(logits, labels)",
        "        loss.backward()",
    ]
    # It had not been asked about: nothing was expected of it.
    assert editor.ask("ridgeline/profile", document)["applied"] is None


def test_a_change_that_pays_is_a_code_action(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    uri = entry.as_uri()
    # What every batch costs, whatever its size: a larger one pays however busy the machine is.
    entry.write_text(
        entry.read_text()
        .replace("        optimizer.zero_grad(", "        time.sleep(0.05)\n        optimizer.zero_grad(", 1)
        .replace("import torch\n", "import time\n\nimport torch\n", 1)
    )
    document = editor.open(entry)
    at = {"line": editor.line_of(uri, "def iteration_provider"), "character": 6}
    question = document | {"range": {"start": at, "end": at}, "context": {"diagnostics": [], "only": ["refactor"]}}
    editor.ask("ridgeline/profile", document)
    assert editor.ask("textDocument/codeAction", question) == []
    answer = editor.ask(
        "ridgeline/whatIf", document | {"changes": [["batch-size:4096"], ["compile"], ["fused-optimizer"]]}
    )
    predicted = [row for row in answer["changes"] if row["canBeWritten"] and row["predicted"]]
    pays = [row for row in predicted if row["predicted"]["speedUp"]["low"] > 1]
    if ["batch-size:4096"] not in [row["change"] for row in pays]:
        pytest.skip("other processes ran while operations were timed")
    number = [row["change"] for row in pays].index(["batch-size:4096"])
    actions = editor.ask("textDocument/codeAction", question)
    assert [action["title"] for action in actions] == [
        f"{row['title']}: {row['predictedText']}, predicted" for row in pays
    ]
    edit = actions[number]["edit"]
    # An edit ends what is known: the text is not the one that ran any more.
    assert editor.result_of("workspace/applyEdit", {"edit": edit}) == {"applied": True}
    assert "batch_size: int = 4096" in editor.texts[uri]
    assert editor.ask("textDocument/codeAction", question) == []


def test_a_search_combines_changes_and_keeps_to_the_memory(editor: Editor) -> None:
    document = editor.open(editor.folder / "entry.py")
    answer = editor.ask("ridgeline/whatIf", document | {"changes": OPTIMIZERS, "search": True})
    changes = [row["change"] for row in answer["changes"]]
    assert all(change in changes for change in OPTIMIZERS)
    # On a busy machine too few operations may have been measured for any prediction.
    assert any(len(change) == 2 for change in changes) or not any(row["predicted"] for row in answer["changes"])
    limited = editor.ask("ridgeline/whatIf", document | {"changes": OPTIMIZERS, "search": True, "memoryBytes": 1})
    assert not any(row["predicted"] and row["predicted"]["peakBytes"] for row in limited["changes"])


def test_what_does_not_apply_says_why(editor: Editor) -> None:
    document = editor.open(editor.folder / "entry.py")
    changes = [["channels-last"], ["without:no.such.module"]]
    answer = editor.ask("ridgeline/whatIf", document | {"changes": changes})  # without a profile: it is made
    rows = rows_of(answer)
    assert not rows["without:no.such.module"]["applies"]
    assert "no.such.module" in rows["without:no.such.module"]["reason"]


def test_an_unknown_change_is_refused(editor: Editor) -> None:
    document = editor.open(editor.folder / "entry.py")
    for method, params in (
        ("ridgeline/whatIf", {"changes": [["faster-please"]]}),
        ("ridgeline/try", {"change": ["faster-please"]}),
        ("ridgeline/whatIf", {"changes": [[]]}),
        ("ridgeline/whatIf", {"changes": [["fused-optimizer"]], "memoryBytes": 1000}),  # of a search only
    ):
        assert editor.call(method, document | params)["error"]["code"] == -32602
    assert editor.questions == []


def test_without_consent_nothing_runs(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    runs = counting(entry)
    editor.consent = "Not now"
    document = editor.open(entry)
    answer = editor.call("ridgeline/try", document | {"change": ["fused-optimizer"]})
    assert answer["error"]["data"]["kind"] == "not-trusted"
    assert count(runs) == 0


def test_it_can_be_cancelled(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    editor.progress.clear()
    number = editor.wire.begin("ridgeline/try", document | {"change": ["fused-optimizer"]})
    editor.until(lambda: any(value.get("title", "").startswith("What if") for value in editor.progress))
    begin = time.monotonic()
    editor.wire.notify("$/cancelRequest", {"id": number})
    assert editor.answer(number)["error"]["code"] == -32800
    editor.until(lambda: editor.progress[-1]["kind"] == "end")
    assert time.monotonic() - begin < 2
    # The worker is free again.
    tried = editor.ask("ridgeline/try", document | {"change": ["fused-optimizer"]})
    assert tried["triedText"]
