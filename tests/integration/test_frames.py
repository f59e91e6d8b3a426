"""Every kind of Python frame: each operation is on the line that called it, and the line ran as often as it did.

Interpreters differ here (comprehensions are inlined from CPython 3.12 on, for one): `./dev matrix` runs this on each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ENTRIES, line_cost, line_of, profile

ENTRY = ENTRIES / "frames" / "entry.py"

# mark of a line → the operation that only this line calls, how often it does in an iteration, and how often the line
# runs where that differs
LINES = {
    "generator": ("sin", 3),
    "after yield from": ("cos", 1),
    "after send": ("tan", 3),
    "recursion": ("sinh", 4),
    "nested function": ("cosh", 2),
    "list comprehension": ("tanh", 4),
    "dict comprehension": ("asin", 3),
    "generator expression": ("acos", 2),
    "nested comprehension": ("atan", 6, 6 if sys.version_info >= (3, 12) else 1),  # inlined: a loop within the line
    "class body": ("exp", 1),
    "wrapper": ("exp2", 1),
    "decorated function": ("expm1", 1),
    "callback of sorted": ("log1p", 3),
    "function of a partial": ("log2", 1),
    "lambda": ("erf", 5, 1),
    "except": ("sqrt", 2),
    "finally": ("rsqrt", 2),
    "return in except": ("erfc", 1),
    "enter": ("floor", 1),
    "exit": ("ceil", 1),
    "with": ("isposinf", 1),
    "constructor": ("round", 1),
    "operator": ("trunc", 1),
    "missing attribute": ("frac", 1),
    "property": ("sign", 1),
    "class method": ("signbit", 1),
    "awaited coroutine": ("reciprocal", 1),
    "coroutine": ("sigmoid", 1),
    "after a suspension": ("logit", 1),
    "case": ("lgamma", 2),
    "first argument": ("digamma", 1),
    "second argument": ("angle", 1),
    "chained call": ("isinf", 1),
    "method by super": ("relu", 1),
    "hook": ("nan_to_num", 1),
}


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return profile(ENTRY, "--seconds", "0.1", "--batch-sizes", "8,16")


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from nodes(child)


@pytest.mark.parametrize("mark", LINES)
def test_an_operation_is_on_the_line_that_called_it(mark: str, report: dict[str, Any]) -> None:
    operation, count = LINES[mark][:2]
    found = [node for node in nodes(report["breakdown"]) if node["name"] == operation]
    assert {node["location"]["line"] for node in found} == {line_of(ENTRY, mark)}
    assert sum(node["calls"] for node in found) == count


@pytest.mark.parametrize("mark", LINES)
def test_a_line_ran_as_often_as_it_did(mark: str, report: dict[str, Any]) -> None:
    assert line_cost(report, ENTRY, mark)["calls"] == LINES[mark][-1]


def test_a_line_without_an_operation_is_seen_by_samples(report: dict[str, Any]) -> None:
    busy = line_cost(report, ENTRY, "without an operation")
    assert busy["calls"] == 1
    assert busy["timeMs"]["self"] > 0.5 * report["iteration"]["timeMs"]


def test_the_lines_of_all_frames_add_up(report: dict[str, Any]) -> None:
    total = sum(line["timeMs"]["self"] for line in report["lines"]) + sum(item["timeMs"] for item in report["other"])
    assert total == pytest.approx(report["iteration"]["timeMs"], rel=0.001)
