"""A recorded job in an editor: its ranks, and the line that makes one of them slow."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import ridgeline
from job_scripts import DDP, run_job, script_of
from training_scripts import number_of

from .editor import Editor

SLOWER = (
    r"Rank 1 (?:is \d+ % slower than|takes \d+\.\d times as long as) the others (?:in|for) its own work: "
    r"data loading, train.py:(\d+)\."
)


def test_a_rank_that_loads_its_data_slowly_is_named_at_its_line(tmp_path: Path, editor: Editor) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    script, file = script_of(folder, DDP, slow=0.002), folder / "slow.ridgeline-job"
    # With eight steps, one in which the other rank was preempted suffices for the job to claim nothing.
    done = run_job(script, 150, "--steps", "24", "--job", str(file), budget=1)
    assert done.returncode == 0, done.stderr
    line = number_of(script, "time.sleep(")
    for told in (done.stderr, ridgeline("job", "show", file).stdout):
        named = re.search(SLOWER, told)
        assert named and int(named[1]) == line, told[-2000:]

    editor.open(script)
    job = editor.ask("ridgeline/job", {"uri": file.as_uri()})
    assert [rank["rank"] for rank in job["ranks"]] == [0, 1]
    for rank in job["ranks"]:
        step = rank["step"]
        assert abs(step["ownMs"] + step["waitingMs"] + step["networkMs"] - step["ms"]) < 1e-6
        assert rank["dataLoadingText"] and step["waitingText"]
    assert job["slower"]["place"] == {"uri": script.as_uri(), "line": line - 1}
    assert job["path"] and job["replayText"].startswith("replayed ") and job["warnings"] == []
    shown = editor.until(lambda: editor.diagnostics.get(script.as_uri()))
    assert [(one["code"], one["range"]["start"]["line"]) for one in shown] == [("slower-rank", line - 1)]
    assert shown[0]["message"] == job["slower"]["text"] + " Recorded in slow.ridgeline-job."

    # Once the line is another one, what was recorded is not of it.
    editor.type_over(script.as_uri(), "time.sleep(", "time.sleep(0 * ")
    editor.until(lambda: editor.diagnostics[script.as_uri()] == [])

    opened = editor.ask("workspace/executeCommand", {"command": "ridgeline.openJob", "arguments": [file.as_uri()]})
    assert re.search(SLOWER, Path(opened["uri"].removeprefix("file://")).read_text())
    for command, arguments, part in (
        ("ridgeline.openJob", [file.as_uri(), ["faster-rank:1=2"]], "faster-rank:1=2"),
        ("ridgeline.optimizeJob", [file.as_uri(), ["accumulate:2"]], "2 micro-batches"),
    ):
        opened = editor.ask("workspace/executeCommand", {"command": command, "arguments": arguments})
        assert part in Path(opened["uri"].removeprefix("file://")).read_text()
    refused = editor.call("workspace/executeCommand", {"command": command, "arguments": [file.as_uri(), ["amp"]]})
    assert "amp is no change of the search of a job" in refused["error"]["message"]


def test_what_is_no_job_is_an_error(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    answer = editor.call("ridgeline/job", {"uri": entry.as_uri()})
    assert "entry.py" in answer["error"]["message"]
