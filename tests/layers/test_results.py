"""The pages of results are what docs/dev/results gives, and the result files hold together."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import pages
import results

ALL = pages.all_results()


def test_pages_follow_from_the_results() -> None:
    for path, text in pages.pages(ALL).items():
        assert path.read_text() == text, f"{path.name} is not what docs/dev/results gives: run {pages.REWRITE}"


def test_each_result_is_on_one_page() -> None:
    assert sorted(name for page in pages.PAGES for name in page.names + page.brief) == sorted(ALL)


@pytest.mark.parametrize("name", ALL)
def test_result_files(name: str) -> None:
    """Figures follow from the tables, rows are as wide as tables, and the text is what `--keep` would write."""
    result = ALL[name]
    assert result["name"] == name
    assert results.with_figures(result) == result
    assert all(len(row) == len(table["columns"]) for table in result["tables"] for row in table["rows"])
    assert results.text_of(result) == results.path_of(name).read_text()


PRINTED = """### Changes

| example | error | inside | time, ms |
|---|---:|---|---:|
| mlp | -4.0 % | yes | 1,200 |
| gpt | +5.1 % | no | 3 |

words
| other |
|---|
"""


def test_tables_are_read_back() -> None:
    changes, other = results.tables_of(PRINTED)
    assert changes["title"] == "Changes" and changes["columns"][3] == {"title": "time", "unit": "ms"}
    assert changes["rows"] == [["mlp", "-4.0 %", "yes", "1,200"], ["gpt", "+5.1 %", "no", "3"]]
    assert other["columns"] == [{"title": "other", "unit": None}] and other["rows"] == []


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ({"columns": ["error"], "statistic": "median"}, "4.6 %"),
        ({"columns": ["error"], "statistic": "worst"}, "5.1 %"),
        ({"columns": ["error"], "statistic": "within", "limit": 5.0}, "1 of 2"),
        ({"columns": ["inside"], "statistic": "yes"}, "1 of 2"),
        ({"columns": [3], "statistic": "worst", "decimals": 0, "unit": " ms"}, "1200 ms"),
        ({"columns": ["time"], "statistic": "cell", "row": "gpt +5"}, "3"),
    ],
)
def test_figures_follow_from_tables(source: dict[str, object], value: str) -> None:
    assert results.value_of(results.tables_of(PRINTED), source) == value


def test_a_run_replaces_what_it_measured() -> None:
    """What is written by hand stays; a figure that no table has is not known after another run."""
    figure = {"title": "worst", "from": {"columns": ["error"], "statistic": "worst"}, "value": "9 %", "target": "3 %"}
    stated = {"title": "by hand", "value": "7", "target": None}
    before = {"title": "T", "about": "A.", "figures": [figure, stated], "short": ["S."], "tables": []}
    run = {"name": "x", "command": "./dev bench x", "date": "2026-01-01", "machine": "m", "commit": None}
    after = results.updated(before, PRINTED, run)
    assert [each["value"] for each in after["figures"]] == ["5.1 %", None]
    assert (after["title"], after["short"], after["date"]) == ("T", ["S."], "2026-01-01")
    assert results.updated(None, PRINTED, run)["title"] == "x"


def test_commands_have_no_paths() -> None:
    arguments = ["x", "--keep", "--data", "/a/b", "--seed", "3", "--figures=/c", "y"]
    assert results.command_of("x", arguments, frozenset({"x", "y"})) == (
        "./dev bench x --data FOLDER --seed 3 --figures FILE"
    )
