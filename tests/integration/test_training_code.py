"""Training code as people write it: every figure adds up, and each cost stands on the line that causes it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ENTRIES, eventually, line_cost, profile

FOLDER = ENTRIES / "training"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
Report = dict[str, Any]


@dataclass
class Reports:
    """The reports of the entry points of this folder, each made when first asked for."""

    made: dict[str, Report] = field(default_factory=dict)

    def __call__(self, name: str) -> Report:
        if name not in self.made:
            entry = FOLDER / f"{name}.py"
            self.made[name] = profile(entry, "--project-root", str(FOLDER), "--seconds", "0.2")
        return self.made[name]


@dataclass
class Lines:
    """Rows of the marked lines of the entry that the test is named after: test_accumulated_… asks accumulated.py."""

    reports: Reports
    name: str

    def __call__(self, mark: str) -> Report:
        return line_cost(self.reports(self.name), FOLDER / f"{self.name}.py", mark)


@pytest.fixture(scope="module")
def reports() -> Reports:
    return Reports()


@pytest.fixture
def lines(reports: Reports, request: pytest.FixtureRequest) -> Lines:
    test = request.node.name.removeprefix("test_")
    return Lines(reports, next(name for name in sorted(NAMES, key=len, reverse=True) if test.startswith(name)))


def in_one_of_some_profiles(test: Callable[..., None]) -> Callable[..., None]:
    """For what compares times: these steps take milliseconds, and something else may run in between."""

    @functools.wraps(test)
    def run(lines: Lines, **given: str) -> None:
        def check() -> None:
            try:
                test(lines=lines, **given)
            except AssertionError:
                del lines.reports.made[lines.name]
                raise

        eventually(check)

    return run


def self_time(line: Report, phase: str) -> float:
    return line["timeMs"][phase] / line["timeMs"]["self"]


@pytest.mark.parametrize("name", NAMES)
def test_figures_add_up(name: str, reports: Reports, schema: Report) -> None:
    report = reports(name)
    jsonschema.validate(report, schema)
    total = sum(line["timeMs"]["self"] for line in report["lines"]) + sum(item["timeMs"] for item in report["other"])
    assert total == pytest.approx(report["iteration"]["timeMs"], rel=0.001)
    assert sum(report["memory"]["byCategory"].values()) == report["memory"]["peakBytes"]
    on_lines = sum(line["memoryBytes"]["atPeak"] for line in report["lines"])
    assert on_lines + sum(item["peakBytes"] for item in report["other"]) == report["memory"]["peakBytes"]


@pytest.mark.parametrize("name", NAMES)
def test_next_to_all_of_a_step_is_on_its_lines(name: str, reports: Reports) -> None:
    @in_one_of_some_profiles
    def check(lines: Lines) -> None:
        assert lines.reports(name)["closure"]["userLineShare"] >= 0.95

    check(lines=Lines(reports, name))


def test_accumulated_backward_calls_are_all_counted(lines: Lines) -> None:
    assert lines("backward")["calls"] == 4
    assert lines("mix")["calls"] == 5  # four times in training, once in the evaluation
    for mark in ("embed", "mix", "out", "loss"):
        assert lines(mark)["timeMs"]["backward"] > 0


@in_one_of_some_profiles
def test_accumulated_optimizers_have_a_line_each(lines: Lines) -> None:
    assert self_time(lines("first"), "optimizer") > 0.9
    assert self_time(lines("second"), "optimizer") > 0.9


def test_accumulated_shared_weights_are_counted_once(reports: Reports) -> None:
    parameters = 4 * (500 * 128 + 128 * 128 + 128)
    assert reports("accumulated")["memory"]["byCategory"]["weights"] == parameters


def test_accumulated_evaluation_makes_no_backward(lines: Lines) -> None:
    line = lines("evaluation")
    assert line["calls"] == 1
    assert line["timeMs"]["backward"] == 0
    assert line["timeMs"]["total"] > line["timeMs"]["self"]


@in_one_of_some_profiles
def test_mixed_precision_belongs_to_the_optimizer(lines: Lines) -> None:
    for mark in ("unscale", "clip", "step"):
        assert self_time(lines(mark), "optimizer") > 0.9


@pytest.mark.parametrize("mark", ["tensor_hook", "backward_hook", "accumulated_hook"])
@in_one_of_some_profiles
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


def test_functional_graph_may_change_with_the_batch(reports: Reports) -> None:
    assert len(reports("functional")["models"]["time"]["samples"]) >= 3


@in_one_of_some_profiles
def test_sparse_gradients_and_scripts_find_their_lines(lines: Lines) -> None:
    assert 0 < lines("embedding")["memoryBytes"]["gradients"] < lines("embedding")["memoryBytes"]["weights"]
    assert self_time(lines("sparse"), "optimizer") > 0.9
    for mark in ("embed", "gate", "tower"):
        assert lines(mark)["timeMs"]["forward"] > 0
        assert lines(mark)["timeMs"]["backward"] > 0


@in_one_of_some_profiles
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


def test_own_function_breakdown_holds_recomputation_under_its_module(reports: Reports) -> None:
    def recomputed(node: Report) -> float:
        return node["byPhaseMs"]["recomputation"]

    report = reports("own_function")
    (net,) = [child for child in report["breakdown"]["children"] if child["type"] == "Net"]
    blocks = [child for child in net["children"] if child["type"] == "Block"]
    assert len(blocks) == 4
    assert all(recomputed(block) > 0 for block in blocks)
    assert recomputed(net) == pytest.approx(recomputed(report["breakdown"]))


@in_one_of_some_profiles
def test_loaders_wait_on_the_line_that_waits(lines: Lines) -> None:
    assert self_time(lines("there"), "data") > 0.99
    assert self_time(lines("decode"), "data") > 0.99
    assert lines("here")["timeMs"]["total"] > lines("decode")["timeMs"]["self"]


def test_entries_are_all_asked() -> None:
    text = Path(__file__).read_text()
    assert all(f"def test_{name}_" in text for name in NAMES)
