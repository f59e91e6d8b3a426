"""The numbers are true: known costs, known counts, and a step that runs as if nobody watched.

A profile of a busy machine may be off. A test that compares times takes the best of a few profiles: what is checked is
that the attribution is right, not that the machine is quiet.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from conftest import ENTRIES, PYTHON, eventually, line_cost, profile


@pytest.mark.quiet
def test_a_line_that_does_three_times_the_work_costs_three_times_as_much() -> None:
    entry = ENTRIES / "known_costs" / "entry.py"

    def check() -> None:
        report = profile(entry, "--seconds", "3")
        once, three = (line_cost(report, entry, mark)["timeMs"] for mark in ("once", "three"))
        for part in ("forward", "backward", "self"):
            assert three[part] / once[part] == pytest.approx(3, rel=0.05), part

    eventually(check)


def test_recursion_counts_once() -> None:
    entry = ENTRIES / "known_costs" / "entry.py"
    report = profile(entry, "--seconds", "1")
    level, recursion, down = (line_cost(report, entry, mark) for mark in ("level", "recursion", "down"))
    assert level["calls"] == 3
    assert recursion["calls"] == 3
    assert down["calls"] == 1
    # Three levels, one below the other: each instant is counted once however many of them are on the stack.
    assert recursion["timeMs"]["total"] <= down["timeMs"]["total"] <= report["iteration"]["timeMs"]
    assert recursion["timeMs"]["total"] < level["timeMs"]["self"]


@pytest.mark.quiet
def test_python_numpy_and_sleep_get_their_own_time(tmp_path: Path) -> None:
    """Against the entry's own clock in the recorded iterations: the report's time before it was scaled."""
    entry = ENTRIES / "known_python" / "entry.py"
    times = tmp_path / "times"

    def check() -> None:
        report = profile(entry, "--seconds", "1", "--batch-sizes", "32", RIDGELINE_TEST_TIMES=str(times))
        measured = [json.loads(line) for line in times.read_text().splitlines()]
        first = report["iteration"]["warmupIterations"]
        recorded = measured[first : first + 2 * report["closure"]["recordedIterations"]]
        marks = ("loop", "numpy", "sleep")
        own = {mark: line_cost(report, entry, mark)["timeMs"]["self"] / report["closure"]["scale"] for mark in marks}
        # The machine may have changed its speed between two iterations: those that the report is of agree in all marks.
        middle = {mark: median(times[mark] for times in recorded) for mark in marks}
        candidates = [{mark: times[mark] / 1e6 for mark in marks} for times in (*recorded, middle)]
        assert any(own == pytest.approx(times, rel=0.05) for times in candidates), (own, candidates)

    eventually(check)


def layers_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The nodes of the Linear modules in the Tower, by name."""
    (tower,) = [node for node in report["breakdown"]["children"] if node["type"] == "Tower"]
    return {node["name"]: node for node in tower["children"] if node["type"] == "Linear"}


def test_a_loop_over_layers_separates_its_layers() -> None:
    entry = ENTRIES / "layers" / "entry.py"
    report = profile(entry, "--seconds", "0.2")
    layers = layers_of(report)
    assert sorted(layers) == ["layers.0", "layers.1", "layers.2"]
    assert all(node["calls"] == 1 for node in layers.values())
    assert line_cost(report, entry, "layer")["calls"] == 3


@pytest.mark.quiet
def test_layers_of_a_loop_get_their_own_times() -> None:
    entry = ENTRIES / "layers" / "entry.py"

    def check() -> None:
        report = profile(entry, "--seconds", "1")
        layers = layers_of(report)
        assert layers["layers.1"]["timeMs"] > 2 * layers["layers.0"]["timeMs"]
        own = line_cost(report, entry, "layer")["timeMs"]["self"]
        assert own == pytest.approx(sum(node["timeMs"] for node in layers.values()), rel=0.02)

    eventually(check)


def test_steps_change_the_same_bits_with_and_without_profiling(agent: Path) -> None:
    entry = ENTRIES / "unchanged" / "entry.py"
    script = Path(__file__).with_name("run_steps.py")
    digests = {
        mode: subprocess.run(
            [PYTHON, script, mode, entry, "9", agent], capture_output=True, text=True, check=True
        ).stdout
        for mode in ("plain", "recorded")
    }
    assert digests["plain"] == digests["recorded"]


def test_nothing_is_written_beside_the_users_files(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text((ENTRIES / "layers" / "entry.py").read_text())
    (tmp_path / "neighbour.py").write_text("VALUE = 1\n")
    entry.write_text("import neighbour\n" + entry.read_text())
    profile(entry, "--seconds", "0.2")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["entry.py", "neighbour.py"]
