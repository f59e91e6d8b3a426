"""`ridgeline what-if TRACE`: changes predicted on a trace of another profiler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT, ridgeline
from gpu_trace import GpuTrace
from jsonschema import Draft202012Validator

SCHEMA = json.loads((ROOT / "protocol/what_if.schema.json").read_text("utf-8"))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(GpuTrace(seed=3).document()), "utf-8")
    return file


def answer(trace: Path, *options: str | Path) -> dict[str, Any]:
    done = ridgeline("what-if", trace, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(found)] == []
    return found


def row(answer: dict[str, Any], *change: str) -> dict[str, Any]:
    return next(row for row in answer["changes"] if row["change"] == list(change))


def test_the_usual_changes_are_predicted_or_have_a_reason(trace):
    found = answer(trace)
    assert found["fromTrace"]
    assert {"amp", "cuda-graphs", "fused-optimizer"} <= {row["change"][0] for row in found["changes"]}
    for one in found["changes"]:
        assert one["applies"] == (one["predicted"] is not None) == (one["reason"] == "")
        assert one["takes"] and one["tried"] is None
        if one["predicted"]:
            speed = one["predicted"]["speedUp"]
            assert 0 < speed["low"] <= speed["value"] <= speed["high"]
            assert one["predicted"]["stepMs"] == pytest.approx(found["stepMs"] / speed["value"])


def test_changes_combine_in_order(trace):
    found = answer(trace, "--change", "no-sync", "--change", "cuda-graphs")
    assert "waits for the device" in row(found, "cuda-graphs")["reason"]
    assert row(found, "no-sync", "cuda-graphs")["predicted"] is not None


def test_a_change_of_the_users_own(trace, tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(
        json.dumps({"title": "no kernels", "steps": [{"select": {"kind": "kernel"}, "do": "scale", "factor": 0}]})
    )
    found = answer(trace, "--change-file", file)
    (one,) = found["changes"]
    assert one["title"] == "no kernels"
    assert one["predicted"]["stepMs"] < found["stepMs"]
    file.write_text('{"title": "t", "steps": [{"select": {"name": "a"}, "do": "scale", "factor": -1}]}')
    done = ridgeline("what-if", trace, "--change-file", file)
    assert done.returncode == 2
    assert "mine.json: /steps/0/factor must be a number" in done.stderr
    assert ridgeline("what-if", trace, "--change-file", tmp_path / "none.json").returncode == 2


PYTHON_CHANGE = """import helper

def change(tasks):
    print("not part of the answer")
    kernels = [task for task in tasks if task["kind"] == "kernel"]
    longest = max(kernels, key=lambda task: task["microseconds"])
    return {"title": helper.TITLE, "steps": [{"select": {"tasks": [longest["id"]]}, "do": "scale", "factor": 0}]}
"""


def test_a_change_in_python_chooses_tasks_by_computing(trace, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PYTHON_CHANGE)
    (tmp_path / "helper.py").write_text("TITLE = 'without the longest kernel'")
    python = ("--python", PYTHON)
    found = answer(trace, *python, "--change-file", file, "--change", "cuda-graphs")
    (one,) = (each for each in found["changes"] if each["change"] == [str(file)])
    assert one["title"] == "without the longest kernel"
    assert 0 < one["predicted"]["stepMs"] < found["stepMs"]
    for text, message in [
        ("def change(tasks):\n    return tasks[0]['nothing']\n", "mine.py: line 2: KeyError: 'nothing'"),
        ("import sys\nsys.exit(3)\n", "mine.py: line 2: SystemExit: 3"),
        ("x = 1\n", "mine.py: TypeError: it defines no function change(tasks)"),
        ("def change(tasks):\n    return {'title': 't', 'steps': [{'select': {'tasks': [-1]}, 'do': 'remove'}]}\n",
         "mine.py: /steps/0/select/tasks must have 1 to 500000 ids of tasks"),
    ]:  # fmt: skip
        file.write_text(text)
        done = ridgeline("what-if", trace, *python, "--change-file", file)
        assert done.returncode == 2
        assert message in done.stderr


def test_what_needs_the_code_says_so(trace):
    found = answer(trace, "--change", "channels-last")
    assert "only an entry point" in row(found, "channels-last")["reason"]
    assert ridgeline("what-if", trace, "--change", "nothing").returncode == 2
    done = ridgeline("what-if", trace, "--try")
    assert done.returncode == 2
    assert "only be predicted" in done.stderr


def test_an_entry_point_has_the_changes_of_graphs_too():
    entry = ROOT / "examples/mlp/entry.py"
    changes = ["faster:fc1=2", "faster:fc1=1", "data-parallel:4,10", "zero:1=4"]
    options = [part for change in changes for part in ("--change", change)]
    found = answer(entry, "--seconds", "0.5", *options)
    assert not found["fromTrace"]
    twice, same, parallel, shared = (row(found, change) for change in changes)
    assert twice["predicted"]["speedUp"]["value"] > 1
    assert same["predicted"]["speedUp"]["value"] == pytest.approx(1)
    assert 1 < parallel["predicted"]["speedUp"]["value"] <= 4, "the weights' bytes are known"
    # The momentum of 798,474 parameters.
    saved = found["peakBytes"] - shared["predicted"]["peakBytes"]
    assert saved == pytest.approx(798_474 * 4 * 3 / 4, rel=0.01)
