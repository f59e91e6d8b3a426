"""since.py REV: what `./dev test --since REV` runs: the suites that the files changed since a commit reach.

Prints three lines: the names of the suites, a filter of GoogleTest for the unit tests, and the paths of the integration
tests. A line that is empty leaves out nothing of these.

A unit test reaches the files that it includes, the implementations of headers among them, and what those include. All
else reaches suites by its folder; a file of no folder below reaches everything. The formats, types and layers take
seconds and are always checked.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "layers"))

from includes import INCLUDE, resolve

CHECKS = ["clang-format", "ruff-check", "ruff-format", "other-formats", "shellcheck", "layers"]
CHECKS += ["vscode-types", "web-types"]
UNIT = ["unit-release", "unit-asan", "unit-tsan"]
THREADED = re.compile(r"tests/unit/(?!worker/guard/)((agent|base|editor|app/profiling|lsp|store|worker)/.*|[^/]*)")
"""The tests in the thread sanitizer's build: tests/unit/CMakeLists.txt."""
EDITORS = ["neovim", "other-editors", "vscode", "view", "faults"]
ALL = ["binary", *UNIT, "fuzz", "bench", "agent-asan", "integration", "packages", *EDITORS, "web"]
ALL += ["build-debug", "clang-tidy"]

# Folder → the suites that its files reach, besides the unit tests and the fuzz targets that include them. The first
# that fits counts. "integration" with a path is only what is below it.
REACHES: list[tuple[str, list[str]]] = [
    ("docs/", ["bench"]),
    ("editors/vscode/", ["vscode", "view", "packages"]),
    ("editors/neovim/", ["neovim"]),
    ("examples/", ["integration", "bench"]),
    ("profiler/agent/", ["agent-asan", "integration"]),
    ("profiler/runner/", ["integration", "agent-asan"]),
    ("server/cli/", ["integration", "packages"]),
    ("server/editor/", ["integration tests/integration/lsp", *EDITORS]),
    ("server/lsp/", ["integration tests/integration/lsp", *EDITORS]),
    ("server/", ["integration", *EDITORS, "web", "bench"]),
    ("tests/bench/", ["bench"]),
    ("tests/editors/neovim/", ["neovim"]),
    ("tests/editors/others/", ["other-editors"]),
    ("tests/editors/vscode/", ["vscode", "view"]),
    ("tests/forkserver/", ["integration", "neovim", "vscode", "view"]),
    ("tests/format/", []),
    ("tests/fuzz/", ["fuzz"]),
    ("tests/gpu/", []),
    ("tests/integration/faults/", ["faults"]),
    ("tests/layers/", []),
    ("tests/packages/", ["packages"]),
    ("tests/remote/", ["integration tests/integration/lsp", "neovim", "vscode"]),
    ("tests/unit/", []),
    ("tests/view/", ["view"]),
    ("tests/web/", ["web"]),
    ("web/", ["web", "view", "integration"]),
]
A_TEST = re.compile(r"tests/integration/(?!faults/)(.*/)?test_\w+\.py")
GTEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),", re.MULTILINE)


@dataclass
class Reached:
    suites: set[str] = field(default_factory=set)
    unit: set[str] | None = field(default_factory=set)
    """The test suites of GoogleTest; None for all."""
    integration: set[str] | None = field(default_factory=set)
    """The paths to test; None for all."""


def closures(files: dict[str, str], begin: Iterable[str]) -> dict[str, set[str]]:
    """Each of the files `begin` → all files whose code it may run, itself among them. `files`: path → text."""
    direct: dict[str, set[str]] = {}
    for path, text in files.items():
        targets = {resolve(quoted or angled, path, files) for quoted, angled in INCLUDE.findall(text)}
        direct[path] = {target for target in targets if target is not None}
        implementation = path.removesuffix(".h") + ".cpp"
        if path.endswith(".h") and implementation in files:
            direct[path].add(implementation)
    found = {}
    for path in begin:
        seen, waiting = {path}, [path]
        while waiting:
            new = direct[waiting.pop()] - seen
            seen |= new
            waiting += new
        found[path] = seen
    return found


def reached(changed: Iterable[str], files: dict[str, str]) -> Reached:
    """What the changed files reach. `files`: path → text of all C++ files, those of the tests among them."""
    result = Reached(suites=set(CHECKS))
    changed = set(changed)
    for path in changed:
        reaches = next((suites for folder, suites in REACHES if path.startswith(folder)), None)
        if A_TEST.fullmatch(path):
            reaches = [f"integration {path}"]
        elif path.endswith(".md"):
            reaches = ["bench"] if path.startswith("docs/") else []
        elif path.startswith("tests/integration/") and reaches is None:
            reaches = ["integration", "agent-asan", "faults"]  # what tests share
        elif reaches is None or path.endswith("CMakeLists.txt"):
            return Reached(suites={*CHECKS, *ALL}, unit=None, integration=None)
        for suite in reaches:
            name, _, below = suite.partition(" ")
            result.suites.add(name)
            if name == "integration" and not below:
                result.integration = None
            elif name == "integration" and result.integration is not None:
                result.integration.add(below)
    tests = [path for path in files if path.startswith(("tests/unit/", "tests/fuzz/")) and path.endswith(".cpp")]
    for test, closure in closures(files, tests).items():
        if closure & changed and test.startswith("tests/fuzz/"):
            result.suites.add("fuzz")
        elif closure & changed and result.unit is not None:
            result.suites.update(UNIT if THREADED.fullmatch(test) else UNIT[:2])
            result.unit.update(GTEST.findall(files[test]))
    if any(path.endswith((".cpp", ".h")) for path in changed):
        result.suites.update(["binary", "build-debug", "clang-tidy"])
    return result


def files_now() -> dict[str, str]:
    folders = [ROOT / "protocol", ROOT / "server", ROOT / "profiler", ROOT / "tests" / "unit", ROOT / "tests" / "fuzz"]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".h", ".cpp"}]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def changed_since(revision: str) -> list[str]:
    """Also what is not committed, and new files."""

    def git(*arguments: str) -> list[str]:
        ran = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"./dev test --since: {ran.stderr.strip()}")
        return [path for path in ran.stdout.split("\0") if path]

    # Of a file that moved both names count.
    return git("diff", "--name-only", "--no-renames", "-z", revision, "--") + git(
        "ls-files", "--others", "--exclude-standard", "-z"
    )


def main() -> int:
    found = reached(changed_since(sys.argv[1]), files_now())
    print(*sorted(found.suites))
    print(":".join(f"{suite}.*:*/{suite}.*" for suite in sorted(found.unit or [])))
    print(*sorted(found.integration or []))
    return 0


if __name__ == "__main__":
    sys.exit(main())
