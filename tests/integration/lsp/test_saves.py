"""What a save profiles: within a time, and not for another batch size only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor

STEP = "        optimizer.zero_grad()"


def slow_entry(editor: Editor) -> tuple[Path, dict[str, Any]]:
    """A profiled entry whose iterations are counted in the file `ran`; it can be made slow."""
    entry = editor.folder / "entry.py"
    ran = f"open({str(editor.folder / 'ran')!r}, 'a').write('x')"
    entry.write_text(
        entry.read_text()
        .replace(STEP, f"        {ran}\n{STEP}")
        .replace("import torch\n", "import time\nimport torch\n", 1)
    )
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    (editor.folder / "ran").write_text("")
    return entry, document


def test_a_profile_after_a_save_ends_in_time_and_says_what_it_leaves_out(editor: Editor) -> None:
    editor.configure(saveTimeLimit=8)
    entry, document = slow_entry(editor)
    editor.type_over(entry.as_uri(), STEP, "        time.sleep(1); optimizer.zero_grad()")
    editor.save(entry)
    assert editor.settled()["state"] == "ready"
    # In full: 5 of the batch size 64, 2 of 16 and 32 each, and 6 timed of each: 27.
    assert 3 <= len((editor.folder / "ran").read_text()) <= 9
    summary = editor.ask("ridgeline/summary", document)
    assert summary["batchSize"] == 64 and summary["timeMs"] > 1000
    left_out = next(warning for warning in summary["warnings"] if warning.startswith("To end within 8 s"))
    assert "batch sizes other than 64, of which this profile knows nothing" in left_out
    assert [one["batchSize"] for one in summary["measured"]] == [64]
    assert summary["models"] == {"timeMs": None, "peakBytes": None}
    assert "too few for a 95 % interval" in summary["uncertainty"]
    prediction = editor.ask("ridgeline/predict", {"profileId": summary["profileId"], "batchSize": 32})
    assert prediction["batch"] is None and "64 only" in prediction["message"]


@pytest.mark.long
def test_a_save_of_a_slow_step_keeps_what_was_predicted_while_the_step_is_the_same(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    slow = STEP.replace("optimizer", "time.sleep(0.4); optimizer")
    entry.write_text(entry.read_text().replace(STEP, slow).replace("import torch\n", "import time\nimport torch\n", 1))
    editor.configure(timeBudget=0.1)
    document = editor.open(entry)
    full = editor.ask("ridgeline/profile", document)
    before = editor.ask("ridgeline/predict", {"profileId": full["profileId"], "batchSize": 96})["batch"]
    assert before["timeMs"]["value"] > 400
    # Seven iterations, of which the batch size takes four at least and another one four more: never enough for both.
    editor.configure(saveTimeLimit=2.8)
    for sleep, text in ((0.4, "optimizer.zero_grad()  # the same"), (0.5, "time.sleep(0.1); optimizer.zero_grad()")):
        editor.type_over(entry.as_uri(), "optimizer.zero_grad()", text)
        editor.save(entry)
        assert editor.settled()["state"] == "ready"
        now = editor.ask("ridgeline/summary", document)
        assert now["timeMs"] > 1000 * sleep
        assert [one["batchSize"] for one in now["measured"]] == [64]
        after = editor.ask("ridgeline/predict", {"profileId": now["profileId"], "batchSize": 96})
        marked = [warning for warning in now["warnings"] if "from a profile before the save" in warning]
        if sleep > 0.4:
            assert after["batch"] is None and "64 only" in after["message"] and not marked
            assert now["models"]["timeMs"] is None and now["answers"]["largestThatFits"] is None
        elif abs(now["timeMs"] / full["timeMs"] - 1) < 0.02:  # else the machine was too busy to tell them apart
            assert marked
            batch = after["batch"]
            assert batch["carriedOver"] and batch["measured"] is None
            assert batch["timeMs"]["value"] == before["timeMs"]["value"]
            assert batch["peakBytes"]["certainty"] == "about"
            assert editor.ask("ridgeline/setBatchSize", document | {"batchSize": 96})["applied"]
            titles = [lens["command"]["title"] for lens in editor.ask("textDocument/codeLens", document)]
            assert any("predicted from before the save" in title for title in titles)
            assert editor.ask("ridgeline/setBatchSize", document | {"batchSize": 64})["applied"]


def test_a_step_that_is_too_slow_for_a_save_leaves_the_figures_stale(editor: Editor) -> None:
    editor.configure(saveTimeLimit=1)
    entry, document = slow_entry(editor)
    editor.type_over(entry.as_uri(), STEP, "        time.sleep(3); optimizer.zero_grad()")
    editor.save(entry)
    settled = editor.settled()
    assert settled["state"] == "stale" and settled["failure"] is None
    assert "The save was not profiled." in settled["reason"] and "`saveTimeLimit`" in settled["reason"]
    assert len((editor.folder / "ran").read_text()) <= 1
    editor.type_over(entry.as_uri(), "time.sleep(3); ", "")
    assert editor.ask("ridgeline/summary", document)["staleReason"] == ""


def test_another_batch_size_alone_makes_nothing_stale(editor: Editor) -> None:
    editor.configure(tryBatchSizes=False)
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    assert editor.ask("ridgeline/setBatchSize", document | {"batchSize": 32})["applied"]
    summary = editor.ask("ridgeline/summary", document)
    assert (summary["batchSize"], summary["batchSizeInCode"]) == (64, 32)
    assert not summary["stale"] and summary["staleReason"] == ""
    assert editor.changes[-1]["state"] == "ready"
    titles = [lens["command"]["title"] for lens in editor.ask("textDocument/codeLens", document)]
    assert "▷ Profile with 32" in titles and not any("stale" in title for title in titles)
    editor.type_over(entry.as_uri(), "batch_size: int = 32", "batch_size: int = SIZE")  # no number
    assert editor.ask("ridgeline/summary", document)["stale"]
    editor.type_over(entry.as_uri(), "batch_size: int = SIZE", "batch_size: int = 64")
    assert not editor.ask("ridgeline/summary", document)["stale"]


def test_a_missing_module_that_the_projects_own_interpreter_has(editor: Editor) -> None:
    own = editor.folder / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    (editor.folder / ".venv" / "lib" / "python3.11" / "site-packages" / "only_here").mkdir(parents=True)
    entry = editor.folder / "entry.py"
    entry.write_text("import only_here.part\n" + entry.read_text())
    answer = editor.call("ridgeline/profile", editor.open(entry))["error"]
    assert answer["data"]["kind"] == "import-error"
    assert answer["data"]["interpreter"] == str(own)
    assert " --" not in answer["message"] and "in the setting `python`" in answer["message"]
    assert f"in {sys.executable}" in answer["message"] and f"own interpreter has it: {own}" in answer["message"]
    entry.write_text(entry.read_text().replace("only_here.part", "nowhere"))
    editor.type_over(entry.as_uri(), "only_here.part", "nowhere")
    answer = editor.call("ridgeline/profile", {"textDocument": {"uri": entry.as_uri()}})["error"]
    assert answer["data"]["interpreter"] == ""


def test_lenses_are_refreshed_once_the_figures_have_come(editor: Editor) -> None:
    """Else one that was asked for during the profile would go on showing what the profile did then."""

    def refreshed_since_the_last_change() -> bool:
        last = {method: index for index, method in enumerate(editor.asked)}
        return last["workspace/codeLens/refresh"] > last["ridgeline/profileChanged"]

    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    for _ in range(2):
        editor.ask("ridgeline/profile", document)
        editor.until(lambda: not editor.changes[-1]["profiling"] and refreshed_since_the_last_change())
        titles = [lens["command"]["title"] for lens in editor.ask("textDocument/codeLens", document)]
        assert titles[0] == "▷ Profile"
