"""matrix.py [--keep] [TORCH@PYTHON...]: the agent's tests on versions of torch and Python, each in its own environment.

Makes build/matrix/NAME for each pair, runs TESTS in it with the built binary, writes a row of compatibility.md,
and removes the environment again (each has several GB) unless --keep is given. An environment that is there is used.
A pair that fails does not stop the others; the exit code is 1 when one did.

Interpreters: those in RIDGELINE_PYTHONS (paths, separated by ':'), then python3.N on the path, then pyenv's. One with
its headers (Python.h) is needed.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BINARY = ROOT / "build" / "bin" / "ridgeline"
FOLDER = ROOT / "build" / "matrix"
TABLE = ROOT / "docs" / "dev" / "compatibility.md"

DEFAULT = ["2.4.1@3.10", "2.6.0@3.12", "2.9.1@3.13", "2.13.0@3.11", "2.15.0@3.12", "2.15.0@3.13", "2.15.0@3.14"]
# What may differ between versions, without the examples that take minutes and without comparisons of times, which need
# a quiet machine.
TESTS = [
    "test_frames.py",
    "test_truth.py",
    "test_compiled_code.py",
    "test_runner.py",
    "test_run_steps.py",
    "test_run_ends.py::test_a_memory_limit_is_kept",
    "test_run_ends.py::test_an_agent_for_another_torch_is_refused",
    "test_examples.py",
]
SELECTION = "(not test_examples or mlp) and not three_times and not get_their_own_time"
ENTRY = ROOT / "tests" / "data" / "entries" / "layers" / "entry.py"


@dataclass(frozen=True)
class Pair:
    torch: str
    python: str

    @staticmethod
    def of(text: str) -> Pair:
        match = re.fullmatch(r"(\d+\.\d+\.\d+)@(3\.\d+)", text)
        if not match:
            raise argparse.ArgumentTypeError(f"{text} is not TORCH@PYTHON, such as {DEFAULT[0]}")
        return Pair(*match.groups())

    @property
    def folder(self) -> Path:
        return FOLDER / f"torch-{self.torch}-python-{self.python}"


class Failed(Exception):
    """Why a pair has no result: one line."""


@dataclass
class Result:
    """What a row of the table says. `problem`: why there are no tests."""

    torch: str
    python: str
    abi: str = ""
    build: str = ""
    passed: int = 0
    failed: tuple[str, ...] = ()
    problem: str = ""

    def row(self) -> str:
        counts = [self.problem, ""] if self.problem else [str(self.passed), str(len(self.failed))]
        today = datetime.date.today().isoformat()
        return "| " + " | ".join([self.torch, self.python, self.abi, self.build, *counts, today]) + " |"


def output_of(*command: str | Path) -> str:
    """What the command prints, or nothing when it fails."""
    try:
        return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def find_python(version: str) -> str:
    candidates = [path for path in os.environ.get("RIDGELINE_PYTHONS", "").split(":") if path]
    candidates.append(f"python{version}")
    pyenv = os.environ.get("PYENV_ROOT") or output_of("pyenv", "root")
    if pyenv:
        candidates += map(str, sorted(Path(pyenv).glob(f"versions/{version}.*/bin/python{version}")))
    ask = (
        "import os, sys, sysconfig; header = os.path.join(sysconfig.get_path('include'), 'Python.h'); "
        "print('%d.%d' % sys.version_info[:2] if os.path.exists(header) else '')"
    )
    for candidate in candidates:
        if output_of(candidate, "-c", ask) == version:
            return candidate
    raise Failed(f"there is no Python {version} with its headers")


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("ERROR")] or text.splitlines() or ["no output"]
    return lines[-1].removeprefix("ERROR: ").replace("|", "/")[:200]


def install(pair: Pair) -> Path:
    """The interpreter of the pair's environment; makes what is missing."""
    python = pair.folder / "bin" / "python"
    ask = "import torch, pytest, jsonschema, numpy; print(torch.__version__.split('+')[0])"
    if output_of(python, "-c", ask) == pair.torch:
        return python
    wanted = [f"torch=={pair.torch}", "numpy"]
    # The tests' own needs, in the versions of .venv.
    wanted += [
        line for line in (ROOT / "requirements.txt").read_text().split() if re.match("pytest=|jsonschema=", line)
    ]
    shutil.rmtree(pair.folder, ignore_errors=True)
    made = output_of(find_python(pair.python), "-c", f"import venv; venv.create({str(pair.folder)!r}, with_pip=True)")
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *wanted], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise Failed(f"not installable: {last_line(done.stdout + done.stderr)}")
    if output_of(python, "-c", ask) != pair.torch:
        raise Failed(f"torch does not import {made}".strip())
    return python


def build_agent(python: Path, environment: dict[str, str]) -> str:
    """Profiles once with an empty cache; the seconds that building the agent took."""
    process = subprocess.Popen(
        [BINARY, "profile", ENTRY, "--python", python, "--seconds", "0.2", "--output", os.devnull],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    started = ended = 0.0
    words = []
    for line in process.stderr:
        words.append(line)
        if line.startswith("Building") and not started:
            started = time.monotonic()
        elif line.startswith("Loading the agent"):
            ended = time.monotonic()
    if process.wait() != 0:
        raise Failed(f"no profile: {last_line(''.join(words))}")
    return f"{ended - started:.0f} s"


def run_tests(python: Path, results: Path, environment: dict[str, str]) -> tuple[int, tuple[str, ...]]:
    """How many tests passed, and the names of those that failed."""
    files = [ROOT / "tests" / "integration" / name for name in TESTS]
    subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ROOT, "--junitxml", results]
        + ["-k", SELECTION, *files],
        env=environment,
        check=False,
    )
    if not results.exists():
        raise Failed("pytest did not run")
    cases = list(ElementTree.parse(results).iter("testcase"))
    bad = tuple(case.get("name", "") for case in cases if list(case) and case.find("skipped") is None)
    return sum(not list(case) for case in cases), bad


def run(pair: Pair) -> Result:
    result = Result(pair.torch, pair.python)
    try:
        python = install(pair)
        result.abi = output_of(python, "-c", "import torch; print(int(torch.compiled_with_cxx11_abi()))")
        result.python = output_of(python, "-c", "import platform; print(platform.python_version())")
        cache = pair.folder / "ridgeline-cache"
        shutil.rmtree(cache, ignore_errors=True)
        environment = {**os.environ, "RIDGELINE_CACHE": str(cache), "RIDGELINE_BINARY": str(BINARY)}
        result.build = build_agent(python, environment)
        results = pair.folder / "tests.xml"
        results.unlink(missing_ok=True)
        result.passed, result.failed = run_tests(python, results, environment)
    except Failed as failed:
        result.problem = str(failed)
    return result


def write(result: Result) -> None:
    """Puts the result into the page's table, replacing an earlier one of this torch and Python."""

    def key(row: str) -> tuple[list[int], list[int]]:
        torch, python = (cell.strip() for cell in row.split("|")[1:3])
        return [int(n) for n in torch.split(".")], [int(n) for n in python.split(".")[:2]]

    lines = TABLE.read_text().splitlines()
    old = [line for line in lines if re.match(r"\| \d", line)]
    rows = {str(key(row)): row for row in [*old, result.row()]}
    begin = lines.index(old[0])
    lines[begin : begin + len(old)] = sorted(rows.values(), key=key)
    TABLE.write_text("".join(f"{line}\n" for line in lines))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev matrix", description="Runs the agent's tests on versions of torch.")
    parser.add_argument("--keep", action="store_true", help="leave the environments in build/matrix")
    parser.add_argument("pairs", nargs="*", type=Pair.of, metavar="TORCH@PYTHON", help=f"default: {' '.join(DEFAULT)}")
    options = parser.parse_args()
    bad = False
    for pair in options.pairs or map(Pair.of, DEFAULT):
        print(f"ridgeline: torch {pair.torch} on Python {pair.python}", file=sys.stderr)
        result = run(pair)
        write(result)
        print(f"ridgeline: {result.row()}", *(f"failed: {name}" for name in result.failed), sep="\n", file=sys.stderr)
        bad = bad or bool(result.problem or result.failed)
        if not options.keep:
            shutil.rmtree(pair.folder, ignore_errors=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
