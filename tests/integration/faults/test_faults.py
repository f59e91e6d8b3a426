"""Whatever goes wrong, the daemon stands: it answers others with the figures that they had, says what has failed, and
gives everything back. `./dev soak` does the same a thousand times, in any order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest
from conftest import ROOT

from . import FAULTS
from .world import Fault, World

PAGE = ROOT / "docs" / "dev" / "reliability.md"
TIMES = 2 if os.environ.get("RIDGELINE_FEWER_ROUNDS") else 4  # each is drawn anew


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World()
    yield world
    world.end()


@pytest.mark.parametrize("each", FAULTS, ids=lambda each: each.name)
def test_it_stands(each: Fault, world: World) -> None:
    for time in range(TIMES):
        each.do(world, Random(f"{each.name} {time}"))
        world.check()


def test_it_still_works(world: World) -> None:
    world.check_that_it_works()


def listed() -> str:
    """What goes wrong, by who is concerned; faults that end in the same way have one item."""
    lines: list[str] = []
    for group in dict.fromkeys(each.group for each in FAULTS):
        names: dict[str, list[str]] = {}
        for each in FAULTS:
            if each.group == group:
                names.setdefault(each.happens, []).append(each.name)
        items = [f"- {'; '.join(of)}: {happens}" for happens, of in names.items()]
        lines += [f"**{group.capitalize()}**", "", *items, ""]
    return "\n".join(lines)


def test_the_page_lists_these_faults() -> None:
    begin, end = "<!-- faults -->\n", "<!-- end of faults -->\n"
    text = PAGE.read_text()
    expected = f"{text.partition(begin)[0]}{begin}{listed()}{end}{text.partition(end)[2]}"
    if os.environ.get("UPDATE_EXPECTED"):
        PAGE.write_text(expected)
    assert PAGE.read_text() == expected, "UPDATE_EXPECTED=1 writes it"
