"""`ridgeline compare` and `ridgeline check`, with real profiles and a real git repository."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from conftest import BINARY, PYTHON, ROOT, ridgeline
from jsonschema import Draft202012Validator
from training_scripts import TRAIN, report_of, write

EXAMPLE = ROOT / "examples" / "mlp" / "entry.py"
QUICK = ("--python", PYTHON, "--seconds", "0.5")


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two revisions: the second holds a block of 8 MiB in the step. One line is not committed."""
    folder = tmp_path / "repository"
    folder.mkdir()
    entry = folder / "entry.py"
    entry.write_text(EXAMPLE.read_text())
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "one")
    changed = entry.read_text().replace(
        "        logits = model(images)\n", "        held = torch.ones(2 << 20)\n        logits = model(images)\n"
    )
    entry.write_text(changed)
    git(folder, "commit", "--quiet", "--all", "--message", "two")
    entry.write_text(changed + "# not committed\n")
    return folder


def compare(*arguments: str | Path, **environment: str) -> dict[str, Any]:
    done = ridgeline("compare", *arguments, "--format", "json", **environment)
    assert done.returncode == 0, done.stderr
    comparison = json.loads(done.stdout)
    Draft202012Validator(json.loads((ROOT / "protocol/comparison.schema.json").read_text())).validate(comparison)
    return comparison


def test_two_revisions(repository: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    found = compare("--git", "HEAD~1..HEAD", repository / "entry.py", "--runs", "2", *QUICK, TMPDIR=str(temporary))
    assert found["inTurns"] and found["before"]["runs"] == found["after"]["runs"] == 2
    assert found["peak"]["outcome"] == "differs"
    assert found["peak"]["afterBytes"] - found["peak"]["beforeBytes"] > 7 << 20
    added = [line for line in found["lines"] if line["presence"] == "added"]
    assert [line["afterText"] for line in added] == ["held = torch.ones(2 << 20)"]
    assert "edited" not in {line["presence"] for line in found["lines"]}
    assert list(temporary.glob("ridgeline-compare-*")) == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert git(repository, "status", "--short").strip() == "M entry.py"


@pytest.mark.long
def test_reports_of_a_script_are_matched_by_the_texts_of_lines(tmp_path: Path) -> None:
    reports = []
    for name, text in (
        ("before", TRAIN),
        ("after", TRAIN.replace("optimizer.zero_grad()", "pass\n            optimizer.zero_grad()")),
    ):
        report = report_of(write(tmp_path, text), "100000", options=("--stop", "--seconds", "0.5"))
        reports.append(tmp_path / f"{name}.json")
        reports[-1].write_text(json.dumps(report))
    found = compare(*reports)
    lines = {line["afterText"]: line for line in found["lines"] if line["presence"] == "same"}
    backward = lines["loss.backward()"]
    assert backward["after"]["line"] == backward["before"]["line"] + 1
    assert not [note for note in found["notes"] if "lacks texts" in note]


def test_an_interrupt_removes_the_worktrees(repository: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    running = subprocess.Popen(
        [BINARY, "compare", "--git", "HEAD~1..", "entry.py", *QUICK],
        cwd=repository,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while len(list((repository / ".git" / "worktrees").glob("*/gitdir"))) < 2:
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    assert list(temporary.glob("ridgeline-compare-*")) == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["one.json"], "name two profiles"),
        (["--git", "HEAD", "entry.py"], "two revisions with two dots"),
        (["--git", "nothing..HEAD", "entry.py"], "there is no revision nothing"),
        (["--git", "HEAD..nothing", "entry.py"], "there is no revision nothing"),
        (["there-is-none.json", "one.json"], "there is no file there-is-none.json"),
    ],
)
def test_what_cannot_be_compared(repository: Path, arguments: list[str], expected: str) -> None:
    done = subprocess.run([BINARY, "compare", *arguments], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert expected in done.stderr


def check(folder: Path, budgets: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "pyproject.toml").write_text(f'[tool.ridgeline.budgets."entry.py"]\n{budgets}\n')
    environment = {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"}
    command = [BINARY, "check", *QUICK, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)


def test_budgets_of_memory(repository: Path) -> None:
    """Memory does not depend on how busy the machine is."""
    within = check(repository, 'max-memory = "1 GiB"')
    assert (within.returncode, within.stdout.split()[4]) == (0, "within"), within.stderr
    over = check(repository, 'max-memory = "1 MiB"', "--github", "--junit", "results.xml")
    assert over.returncode == 1, over.stderr
    assert "::error file=pyproject.toml,line=2,col=1,title=entry.py::over: max-memory = 1 MiB" in over.stdout
    suite = ElementTree.parse(repository / "results.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("entry.py", "1", "1")


def test_a_mistyped_budget(repository: Path) -> None:
    done = check(repository, 'max-memroy = "1 GiB"')
    assert done.returncode == 2
    assert "pyproject.toml:2:1: there is no budget max-memroy. Did you mean max-memory?" in done.stderr
