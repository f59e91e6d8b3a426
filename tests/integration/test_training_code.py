"""Training code as people write it: every figure adds up, and each cost stands on the line that causes it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ENTRIES, eventually, line_cost, profile

FOLDER = ENTRIES / "training"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
Report = dict[str, Any]
Lines = Callable[[str], Report]


def profile_of(name: str) -> Report:
    return profile(FOLDER / f"{name}.py", "--project-root", str(FOLDER), "--time-budget", "0.2")


@pytest.fixture(scope="module")
def reports() -> Callable[[str], Report]:
    made: dict[str, Report] = {}

    def report(name: str) -> Report:
        if name not in made:
            made[name] = profile_of(name)
        return made[name]

    return report


@pytest.fixture
def lines(reports: Callable[[str], Report], request: pytest.FixtureRequest) -> Lines:
    """Rows of the marked lines of the entry that the test is named after: test_accumulated_… asks accumulated.py."""
    test = request.node.name.removeprefix("test_")
    name = next(name for name in sorted(NAMES, key=len, reverse=True) if test.startswith(name))
    return lambda mark: line_cost(reports(name), FOLDER / f"{name}.py", mark)


def self_time(line: Report, phase: str) -> float:
    return line["timeMs"][phase] / line["timeMs"]["self"]


@pytest.mark.parametrize("name", NAMES)
def test_figures_add_up(name: str, reports: Callable[[str], Report], schema: Report) -> None:
    report = reports(name)
    jsonschema.validate(report, schema)
    total = sum(line["timeMs"]["self"] for line in report["lines"]) + sum(item["timeMs"] for item in report["other"])
    assert total == pytest.approx(report["iteration"]["timeMs"], rel=0.001)
    assert sum(report["memory"]["byCategory"].values()) == report["memory"]["peakBytes"]
    on_lines = sum(line["memoryBytes"]["atPeak"] for line in report["lines"])
    assert on_lines + sum(item["bytes"] for item in report["other"]) == report["memory"]["peakBytes"]
    # A step of a millisecond has more outside of its lines when something else runs in between.
    attempts = itertools.chain([report], (profile_of(name) for _ in itertools.count()))

    def check() -> None:
        assert next(attempts)["closure"]["userLineShare"] >= 0.95

    eventually(check)


def test_accumulated_backward_calls_are_all_counted(lines: Lines) -> None:
    assert lines("backward")["calls"] == 4
    assert lines("mix")["calls"] == 5  # four times in training, once in the evaluation
    for mark in ("embed", "mix", "out", "loss"):
        assert lines(mark)["timeMs"]["backward"] > 0


def test_accumulated_optimizers_have_a_line_each(lines: Lines) -> None:
    assert self_time(lines("first"), "optimizer") > 0.9
    assert self_time(lines("second"), "optimizer") > 0.9


def test_accumulated_shared_weights_are_counted_once(reports: Callable[[str], Report]) -> None:
    parameters = 4 * (500 * 128 + 128 * 128 + 128)
    assert reports("accumulated")["memory"]["byCategory"]["weights"] == parameters


def test_accumulated_evaluation_makes_no_backward(lines: Lines) -> None:
    line = lines("evaluation")
    assert line["calls"] == 1
    assert line["timeMs"]["backward"] == 0
    assert line["timeMs"]["total"] > line["timeMs"]["self"]


def test_mixed_precision_belongs_to_the_optimizer(lines: Lines) -> None:
    for mark in ("unscale", "clip", "step"):
        assert self_time(lines(mark), "optimizer") > 0.9


@pytest.mark.parametrize("mark", ["tensor_hook", "backward_hook", "accumulated_hook"])
def test_mixed_backward_hooks_own_their_lines(mark: str, lines: Lines) -> None:
    line = lines(mark)
    assert self_time(line, "backward") > 0.99
    assert line["calls"] >= 1


def test_mixed_forward_hook_owns_its_line_and_its_backward(lines: Lines) -> None:
    assert lines("forward_hook")["timeMs"]["forward"] > 0
    assert lines("forward_hook")["timeMs"]["backward"] > 0


def test_functional_lines_work_without_modules(lines: Lines) -> None:
    assert lines("layer")["calls"] == 4
    assert lines("layer")["timeMs"]["backward"] > 0
    assert lines("weight")["memoryBytes"]["weights"] == 4 * 128 * 128
    assert lines("vmap")["timeMs"]["total"] > lines("vmap")["timeMs"]["self"] > 0
    assert lines("functional_call")["timeMs"]["self"] > 0


def test_functional_graph_may_change_with_the_batch(reports: Callable[[str], Report]) -> None:
    assert len(reports("functional")["models"]["time"]["samples"]) >= 3


def test_sparse_gradients_and_scripts_find_their_lines(lines: Lines) -> None:
    assert 0 < lines("embedding")["memoryBytes"]["gradients"] < lines("embedding")["memoryBytes"]["weights"]
    assert self_time(lines("sparse"), "optimizer") > 0.9
    for mark in ("embed", "gate", "tower"):
        assert lines(mark)["timeMs"]["forward"] > 0
        assert lines(mark)["timeMs"]["backward"] > 0


def test_own_function_backward_keeps_its_own_lines(lines: Lines) -> None:
    assert self_time(lines("numpy"), "backward") > 0.99
    assert self_time(lines("gradient"), "backward") > 0.99
    assert lines("numpy")["timeMs"]["self"] > lines("apply")["timeMs"]["self"]


def test_own_function_recomputation_stands_on_the_forward_line_as_such(lines: Lines) -> None:
    for mark in ("a", "gelu"):
        line = lines(mark)
        assert line["calls"] == 8  # four blocks, each again in backward
        for phase in ("forward", "backward", "recomputation"):
            assert line["timeMs"][phase] > 0
    assert lines("step")["timeMs"]["recomputation"] == 0


def test_own_function_breakdown_holds_recomputation_under_its_module(reports: Callable[[str], Report]) -> None:
    def recomputed(node: Report) -> float:
        return node["byPhaseMs"]["recomputation"]

    report = reports("own_function")
    (net,) = [child for child in report["breakdown"]["children"] if child["type"] == "Net"]
    blocks = [child for child in net["children"] if child["type"] == "Block"]
    assert len(blocks) == 4
    assert all(recomputed(block) > 0 for block in blocks)
    assert recomputed(net) == pytest.approx(recomputed(report["breakdown"]))


def test_loaders_wait_on_the_line_that_waits(lines: Lines) -> None:
    assert self_time(lines("there"), "data") > 0.99
    assert self_time(lines("decode"), "data") > 0.99
    assert lines("here")["timeMs"]["total"] > lines("decode")["timeMs"]["self"]


def test_entries_are_all_asked() -> None:
    text = Path(__file__).read_text()
    assert all(f"def test_{name}_" in text for name in NAMES)
