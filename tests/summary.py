"""summary.py FOLDER: sums up the results of ./dev test in FOLDER, and prints `N passed, N failed[, N skipped]` last.

Before that, it prints the seconds of each suite and the ten slowest tests.

summary.py FOLDER SUITE: prints the tests of SUITE that failed instead, a line each, as an argument of pytest or node.

FOLDER/suites has a line per suite: name, exit status, `tests` or `check`, and seconds. A check is one test. A suite of
tests has its results in FOLDER/<name>.xml (JUnit, by ctest or pytest), and more of them in FOLDER/<name>.<part>.xml;
one without results, or that failed without a failed test, counts as a failed test. Exits with 1 when anything failed.

FOLDER/again has the results of tests that failed and were run once more, alone. One that passed there has passed, and
is named: a busy machine must fail no test.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

SLOWEST = 10


@dataclass
class Tally:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    passed_again: list[str] = field(default_factory=list)
    suite_seconds: dict[str, int] = field(default_factory=dict)
    test_seconds: dict[str, float] = field(default_factory=dict)


def skip_reason(case: ElementTree.Element) -> str | None:
    """Why a test was skipped, or None. ctest also calls a test that it could not start skipped: that is not a skip."""
    skipped = case.find("skipped")
    if case.get("status") == "disabled":
        return "disabled"
    if skipped is None:
        return None
    reason = skipped.get("message") or ""
    if case.get("status") != "notrun":
        return reason
    if not reason.startswith("SKIP_"):
        return None
    printed = re.search(r": Skipped\n(.*)", case.findtext("system-out") or "")  # by GTEST_SKIP
    return printed[1] if printed else reason


def add_case(tally: Tally, suite: str, case: ElementTree.Element) -> None:
    group, test = case.get("classname", ""), case.get("name", "")
    name = f"{suite}: {test}" if group == test else f"{suite}: {group} {test}"
    reason = skip_reason(case)
    tally.test_seconds[name] = float(case.get("time") or 0)
    if case.find("failure") is not None or case.find("error") is not None:
        tally.failed.append(name)
    elif reason is not None:
        tally.skipped.append(f"{name} ({reason})")
    elif case.get("status", "run") != "run":
        tally.failed.append(f"{name} (was not run)")
    else:
        tally.passed += 1


def cases_in(results: Path) -> list[ElementTree.Element]:
    try:
        return list(ElementTree.parse(results).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return []


def results_of(suite: str, folder: Path) -> list[ElementTree.Element]:
    files = [folder / f"{suite}.xml", *sorted(folder.glob(f"{suite}.*.xml"))]
    return [case for file in files for case in cases_in(file)]


def add_tests(tally: Tally, suite: str, status: int, folder: Path) -> None:
    cases = results_of(suite, folder)
    of_suite, again = Tally(), Tally()
    for case in cases:
        add_case(of_suite, suite, case)
    for case in results_of(suite, folder / "again"):
        add_case(again, suite, case)
    if not cases:
        of_suite.failed.append(f"{suite}: no test was run (exit status {status})")
    elif status != 0 and not of_suite.failed:
        of_suite.failed.append(f"{suite}: stopped with exit status {status}")
    passed_again = [
        name
        for name in of_suite.failed
        if name in again.test_seconds and name not in again.failed and not skipped_in(again, name)
    ]
    tally.passed += of_suite.passed + len(passed_again)
    tally.passed_again += passed_again
    tally.failed += [name for name in of_suite.failed if name not in passed_again]
    tally.skipped += of_suite.skipped
    tally.test_seconds |= of_suite.test_seconds


def skipped_in(tally: Tally, name: str) -> bool:
    return any(skipped.startswith(f"{name} (") for skipped in tally.skipped)


def arguments_for(suite: str, folder: Path) -> list[str]:
    arguments = []
    for case in results_of(suite, folder):
        if case.find("failure") is not None or case.find("error") is not None:
            group, name = case.get("classname", ""), case.get("name", "")
            is_python = group.startswith("tests.")
            path = group.replace(".", "/")
            arguments.append(f"{path}.py::{name}" if is_python else f"--test-name-pattern=^{re.escape(name)}$")
    return arguments


def summarise(folder: Path) -> Tally:
    tally = Tally()
    for line in (folder / "suites").read_text().splitlines():
        suite, status, kind, seconds = line.split()
        tally.suite_seconds[suite] = int(seconds)
        if kind == "tests":
            add_tests(tally, suite, int(status), folder)
        elif int(status) != 0:
            tally.failed.append(suite)
        else:
            tally.passed += 1
    return tally


def largest_first(seconds: dict[str, float] | dict[str, int]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda item: item[1], reverse=True)


def main() -> int:
    if len(sys.argv) > 2:
        print("\n".join(arguments_for(sys.argv[2], Path(sys.argv[1]))))
        return 0
    tally = summarise(Path(sys.argv[1]))
    print("seconds by suite: " + ", ".join(f"{name} {seconds}" for name, seconds in largest_first(tally.suite_seconds)))
    for name, seconds in largest_first(tally.test_seconds)[:SLOWEST]:
        print(f"slowest tests: {seconds:.1f} s {name}")
    for label, names in (
        ("skipped", tally.skipped),
        ("failed beside others, passed alone", tally.passed_again),
        ("failed", tally.failed),
    ):
        for name in names:
            print(f"{label}: {name}")
    skipped = f", {len(tally.skipped)} skipped" if tally.skipped else ""
    print(f"{tally.passed} passed, {len(tally.failed)} failed{skipped}")
    return 1 if tally.failed or tally.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
