"""A training script that is profiled from the editor, as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import processes_with

from .editor import CAPABILITIES, Editor
from .project import SETTINGS, cache
from .wire import Daemon, Wire, wait_for

TRAIN = """\
import os
import subprocess
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    print("arguments", *sys.argv[1:], os.getcwd(), os.environ.get("COLOUR"), flush=True)
    if "--child" in sys.argv:
        subprocess.Popen(["sleep", "600"])
    if "--fail" in sys.argv:
        raise ValueError("the script's own mistake")
    if "--wait" in sys.argv:
        __import__("time").sleep(600)
    model = nn.Linear(64, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(640, 64), torch.randint(0, 8, (640,)))
    while True:
        for images, labels in DataLoader(data, batch_size=32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            if "--slow" in sys.argv:
                __import__("time").sleep(600)


if __name__ == "__main__":
    main()
"""


def script(editor: Editor) -> tuple[Path, dict[str, Any]]:
    path = editor.folder / "train.py"
    path.write_text(TRAIN)
    return path, editor.open(path)


def outputs(editor: Editor) -> str:
    return "".join(text for _, text in editor.outputs)


def test_a_script_is_profiled_as_it_is(editor: Editor) -> None:
    path, document = script(editor)
    lenses = editor.ask("textDocument/codeLens", document)
    assert [lens["command"]["command"] for lens in lenses] == ["ridgeline.run", "ridgeline.run"]
    assert lenses[0]["range"]["start"]["line"] == 0, "the start of training is out of sight when the file is opened"
    assert editor.texts[path.as_uri()].splitlines()[lenses[1]["range"]["start"]["line"]].startswith("if __name__")

    assert editor.ask("ridgeline/status", document)["target"]["isScript"]

    run = {"arguments": ["--epochs", "a b"], "environment": {"COLOUR": "red"}, "folder": str(editor.folder.parent)}
    summary = editor.ask("ridgeline/run", document | run)
    assert len(editor.questions) == 1
    assert "train.py --epochs 'a b'" in editor.questions[0] and "COLOUR=red" in editor.questions[0]
    assert str(editor.folder.parent) in editor.questions[0]
    assert f"arguments --epochs a b {editor.folder.parent} red\n" in outputs(editor)
    assert summary["batchSize"] == 32 and summary["uri"] == path.as_uri()
    assert not summary["stale"], summary["staleReason"]
    assert [one["batchSize"] for one in summary["measured"]] == [16, 32], "it ran again for the size of the settings"
    assert outputs(editor).count("arguments") == 1, "the output of further runs is not shown"
    assert summary["models"]["timeMs"] is not None and summary["batchSizeInCode"] == 32
    costs = editor.ask("ridgeline/lineCosts", document | {"profileId": summary["profileId"]})["lines"]
    assert editor.line_of(path.as_uri(), "loss.backward()") in {line["line"] for line in costs}
    titles = [lens["command"]["title"] for lens in editor.ask("textDocument/codeLens", document)]
    assert titles[0] == "▷ Profile this script" and any("samples/s" in title for title in titles)

    # A save makes the figures stale and runs nothing; a second run does not ask.
    editor.changes.clear()
    editor.type_first(path.as_uri(), "import math\n")
    editor.save(path)
    again = editor.ask("ridgeline/summary", document)
    assert again["stale"] and again["profileId"] == summary["profileId"]
    assert not any(change["profiling"] for change in editor.changes)
    editor.ask("ridgeline/run", document)
    assert len(editor.questions) == 1


def test_profiling_a_script_runs_it(editor: Editor) -> None:
    _, document = script(editor)
    summary = editor.ask("ridgeline/profile", document)
    assert summary["batchSize"] == 32
    assert "Profiling this script runs" in editor.questions[0]


def test_a_cancelled_script_ends_with_all_that_it_started(editor: Editor) -> None:
    _, document = script(editor)
    mark = f"MARK={editor.folder}"
    run = {"arguments": ["--child", "--slow"], "environment": {"MARK": str(editor.folder)}}
    number = editor.wire.begin("ridgeline/run", document | run)
    editor.until(lambda: "arguments" in outputs(editor))
    editor.until(lambda: len(processes_with(mark)) >= 2)
    editor.wire.notify("$/cancelRequest", {"id": number})
    assert editor.answer(number)["error"]["code"] == -32800
    wait_for(lambda: processes_with(mark) == [])


def test_a_cancelled_trial_of_a_script_ends_its_run(editor: Editor) -> None:
    _, document = script(editor)
    mark = f"MARK={editor.folder}"
    editor.ask("ridgeline/run", document | {"environment": {"MARK": str(editor.folder)}})
    assert processes_with(mark) == []
    number = editor.wire.begin("ridgeline/try", document | {"change": ["foreach-optimizer"]})
    editor.until(lambda: len(processes_with(mark)) >= 2)  # the guard and the script
    editor.wire.notify("$/cancelRequest", {"id": number})
    assert editor.answer(number)["error"]["code"] == -32800
    wait_for(lambda: processes_with(mark) == [])


def test_a_script_that_fails_shows_its_output(editor: Editor) -> None:
    _, document = script(editor)
    answer = editor.call("ridgeline/run", document | {"arguments": ["--fail"]})["error"]
    assert answer["data"]["kind"] == "process-died"
    assert "train.py ended by itself with exit code 1 before it took a training step" in answer["message"]
    assert "ValueError: the script's own mistake" in answer["data"]["output"]
    assert "ValueError: the script's own mistake\n" in outputs(editor)


def test_a_script_that_takes_no_step_is_ended_at_the_time_limit(editor: Editor) -> None:
    editor.configure(timeLimit=4)
    _, document = script(editor)
    run = {"arguments": ["--wait"], "environment": {"MARK": str(editor.folder)}}
    answer = editor.call("ridgeline/run", document | run)["error"]
    assert "before it took a training step. It was ended at its time limit" in answer["message"]
    assert processes_with(f"MARK={editor.folder}") == []


def test_nothing_runs_without_consent_and_arguments_are_those_of_the_settings(editor: Editor) -> None:
    editor.configure(run={"arguments": ["--fail"], "folder": ""})
    _, document = script(editor)
    editor.consent = None
    assert editor.call("ridgeline/run", document)["error"]["data"]["kind"] == "not-trusted"
    assert "--fail" in editor.questions[0] and outputs(editor) == ""
    editor.consent = "Profile"
    assert "exit code 1" in editor.call("ridgeline/run", document)["error"]["message"]


@pytest.mark.parametrize(
    "wrong", [{"arguments": "--fail"}, {"arguments": ["a\0b"]}, {"environment": {"A": 1}}, {"environment": ["A"]}]
)
def test_what_is_no_command_line_is_refused(
    tmp_path: Path, stdio: Callable[..., tuple[Daemon, Wire]], wrong: dict[str, Any]
) -> None:
    _, wire = stdio(checked=False, env=cache(tmp_path))
    editor = Editor(wire, tmp_path, dict(SETTINGS))
    wire.initialize(CAPABILITIES)
    assert editor.call("ridgeline/run", script(editor)[1] | wrong)["error"]["code"] == -32602
    assert editor.questions == []


def test_what_trains_and_what_does_not(editor: Editor) -> None:
    def commands(name: str, text: str) -> list[str]:
        path = editor.folder / name
        path.write_text(text)
        return [lens["command"]["command"] for lens in editor.ask("textDocument/codeLens", editor.open(path))]

    assert commands("a.py", "from torch import nn\n\n\ndef main():\n    optimizer.step()\n\n\nmain()\n") == [
        "ridgeline.run"
    ]
    assert commands("b.py", "import torch.nn as nn\n\n\nclass Net(nn.Module):\n    pass\n") == []
    assert commands("c.py", "import json\n\nif __name__ == '__main__':\n    print(json.dumps({}))\n") == []
    assert commands("d.py", "import torch\n\nprint(torch.__version__)\n") == []
    assert commands("e.py", "import torchvision\n\nif __name__ == '__main__':\n    pass\n") == []


def test_changes_of_a_script_are_predicted_tried_and_written(editor: Editor) -> None:
    path, document = script(editor)
    editor.ask("ridgeline/run", document | {"arguments": ["--epochs", "1"]})
    changes = [["foreach-optimizer"], ["bf16-autocast"]]
    answer = editor.ask("ridgeline/whatIf", document | {"changes": changes})
    assert {"+".join(row["change"]) for row in answer["changes"]} == {"foreach-optimizer", "bf16-autocast"}
    assert all(row["reason"] == "" for row in answer["changes"]), answer
    tried = editor.ask("ridgeline/try", document | {"change": ["foreach-optimizer"]})
    assert tried["tried"]["speedUp"]["value"] > 0, tried
    assert tried["canBeWritten"], "the optimizer is constructed in the script"
    assert len(editor.questions) == 1, "the first run was agreed to, with what follows"
    assert path.read_text() == TRAIN
