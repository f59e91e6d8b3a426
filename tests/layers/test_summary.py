"""tests/summary.py: what counts as passed where failed tests were run once more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SUMMARY = Path(__file__).resolve().parents[1] / "summary.py"
FAILED = '<testcase classname="tests.lsp.test_a" name="{0}"><failure message="no"/></testcase>'
PASSED = '<testcase classname="tests.lsp.test_a" name="{0}"/>'
SKIPPED = '<testcase classname="tests.lsp.test_a" name="{0}"><skipped message="left out"/></testcase>'


def write(folder: Path, cases: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "integration.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")


def summary(folder: Path, *suite: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, SUMMARY, folder, *suite], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_a_test_that_passes_alone_has_passed_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "suites").write_text("integration 1 tests 3\n")
    write(tmp_path, PASSED.format("one") + FAILED.format("two[3]") + FAILED.format("three"))
    assert summary(tmp_path, "integration")[1] == ["tests/lsp/test_a.py::two[3]", "tests/lsp/test_a.py::three"]
    write(tmp_path / "again", PASSED.format("two[3]") + FAILED.format("three"))
    status, lines = summary(tmp_path)
    assert status == 1 and lines[-1] == "2 passed, 1 failed"
    assert "failed beside others, passed alone: integration: tests.lsp.test_a two[3]" in lines
    assert "failed: integration: tests.lsp.test_a three" in lines
    write(tmp_path / "again", PASSED.format("two[3]") + PASSED.format("three"))
    status, lines = summary(tmp_path)
    assert status == 0 and lines[-1] == "3 passed, 0 failed"


def test_a_test_that_was_not_run_again_or_skipped_then_has_failed(tmp_path: Path) -> None:
    (tmp_path / "suites").write_text("integration 1 tests 3\n")
    write(tmp_path, FAILED.format("one") + FAILED.format("two"))
    write(tmp_path / "again", SKIPPED.format("one"))
    status, lines = summary(tmp_path)
    assert status == 1 and lines[-1] == "0 passed, 2 failed"


def test_a_suite_that_ends_without_a_failed_test_has_failed(tmp_path: Path) -> None:
    (tmp_path / "suites").write_text("integration 3 tests 3\n")
    write(tmp_path, PASSED.format("one"))
    assert summary(tmp_path)[1][-1] == "1 passed, 1 failed"
