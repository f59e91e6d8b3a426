"""tests/since.py: what a change reaches."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from since import ALL, CHECKS, REACHES, THREADED, files_now, reached

FILES = {
    "server/base/clock.h": "",
    "server/base/clock.cpp": '#include "base/clock.h"',
    "server/store/file.h": "",
    "server/store/file.cpp": '#include "store/file.h"\n#include "base/clock.h"',
    "server/report/text.h": '#include "base/clock.h"',
    "tests/unit/store/file_test.cpp": '#include "store/file.h"\nTEST_F(File, IsKept) {}\nTEST(Folder, IsMade) {}',
    "tests/unit/report/text_test.cpp": '#include "report/text.h"\nTEST_P(Text, IsShort) {}',
    "tests/fuzz/file_fuzz.cpp": '#include "store/file.h"',
}


@pytest.mark.parametrize(
    ("changed", "unit"),
    [
        ("server/store/file.cpp", {"File", "Folder"}),  # the implementation of what the test includes
        ("server/base/clock.cpp", {"File", "Folder", "Text"}),  # of what that includes, too
        ("tests/unit/report/text_test.cpp", {"Text"}),
        ("docs/user/report.md", set()),
    ],
)
def test_unit_tests_by_what_they_include(changed: str, unit: set[str]) -> None:
    found = reached([changed], FILES)
    assert found.unit == unit
    assert ("unit-asan" in found.suites) == bool(unit)
    assert ("unit-tsan" in found.suites) == ("File" in unit), "no thread has to do with texts"
    assert ("fuzz" in found.suites) == ("File" in unit)


@pytest.mark.parametrize(
    ("changed", "suites", "integration"),
    [
        (["editors/neovim/lua/ridgeline/view.lua"], {"neovim"}, set()),
        (["tests/integration/test_job.py"], {"integration"}, {"tests/integration/test_job.py"}),
        (["tests/integration/test_job.py", "examples/mlp/entry.py"], {"integration", "bench"}, None),
        (["tests/integration/job.py"], {"integration", "agent-asan", "faults"}, None),
        (["docs/user/report.md"], {"bench"}, set()),
        ([], set(), set()),
    ],
)
def test_suites_by_folder(changed: list[str], suites: set[str], integration: set[str] | None) -> None:
    found = reached(changed, FILES)
    assert found.suites == {*CHECKS, *suites}
    assert found.integration == integration


@pytest.mark.parametrize("changed", ["dev", "server/base/CMakeLists.txt", "requirements.txt", "protocol/report.json"])
def test_what_no_rule_names_reaches_everything(changed: str) -> None:
    found = reached([changed, "docs/user/report.md"], FILES)
    assert found.suites == {*CHECKS, *ALL} and found.unit is None and found.integration is None


def test_the_suites_are_those_of_dev() -> None:
    of_dev = set(re.findall(r"^ *(?:RIDGELINE\S+ )?suite ([\w-]+) ", (ROOT / "dev").read_text(), re.MULTILINE))
    of_dev |= {"fuzz"}  # a variable is set before it
    assert of_dev == {*CHECKS, *ALL}
    assert {suite.partition(" ")[0] for _, suites in REACHES for suite in suites} <= set(ALL)


def test_folders_are_there() -> None:
    assert [folder for folder, _ in REACHES if not (ROOT / folder).is_dir()] == []


def test_the_threaded_tests_are_those_of_the_build() -> None:
    build = (ROOT / "tests" / "unit" / "CMakeLists.txt").read_text()
    included = re.search(r'INCLUDE REGEX "/tests/unit/(.*)\$"', build)
    assert included is not None and THREADED.pattern == f"tests/unit/(?!worker/guard/){included[1]}"
    assert 'EXCLUDE REGEX "/worker/guard/"' in build


def test_every_unit_test_is_reached_by_itself() -> None:
    files = files_now()
    tests = [path for path in files if path.startswith("tests/unit/") and path.endswith("_test.cpp")]
    assert tests
    for path in tests:
        assert reached([path], {path: files[path]}).unit, path
