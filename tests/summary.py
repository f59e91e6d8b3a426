"""summary.py FOLDER: sums up the results of ./dev test in FOLDER, and prints `N passed, N failed[, N skipped]` last.

Before that, it prints the seconds of each suite and the ten slowest tests.

FOLDER/suites has a line per suite: name, exit status, `tests` or `check`, and seconds. A check is one test. A suite of
tests has its results in FOLDER/<name>.xml (JUnit, by ctest or pytest), and more of them in FOLDER/<name>.<part>.xml;
one without results, or that failed without a failed test, counts as a failed test. Exits with 1 when anything failed.
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


def add_tests(tally: Tally, suite: str, status: int, folder: Path) -> None:
    results = [folder / f"{suite}.xml", *sorted(folder.glob(f"{suite}.*.xml"))]
    cases = [case for file in results for case in cases_in(file)]
    failed_before = len(tally.failed)
    for case in cases:
        add_case(tally, suite, case)
    if not cases:
        tally.failed.append(f"{suite}: no test was run (exit status {status})")
    elif status != 0 and len(tally.failed) == failed_before:
        tally.failed.append(f"{suite}: stopped with exit status {status}")


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
    tally = summarise(Path(sys.argv[1]))
    print("seconds by suite: " + ", ".join(f"{name} {seconds}" for name, seconds in largest_first(tally.suite_seconds)))
    for name, seconds in largest_first(tally.test_seconds)[:SLOWEST]:
        print(f"slowest tests: {seconds:.1f} s {name}")
    for label, names in (("skipped", tally.skipped), ("failed", tally.failed)):
        for name in names:
            print(f"{label}: {name}")
    skipped = f", {len(tally.skipped)} skipped" if tally.skipped else ""
    print(f"{tally.passed} passed, {len(tally.failed)} failed{skipped}")
    return 1 if tally.failed or tally.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
