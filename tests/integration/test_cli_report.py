"""`ridgeline report`: a profile that was made before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import PYTHON, ROOT, ridgeline


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("report") / "mlp"
    shutil.copytree(ROOT / "examples" / "mlp", project)
    file = project / "report.json"
    done = ridgeline(
        "profile",
        project / "entry.py",
        "--python",
        PYTHON,
        "--seconds",
        "1",
        "--format",
        "json",
        "--output",
        file,
    )
    assert done.returncode == 0, done.stderr
    return file


def test_a_report_is_the_same_again(made: Path) -> None:
    again = ridgeline("report", made, "--format", "json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads(made.read_text())


def test_a_kept_profile_is_found_by_its_id(made: Path) -> None:
    report = json.loads(made.read_text())
    again = ridgeline("report", report["id"], "--format", "json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == report
    text = ridgeline("report", report["id"]).stdout
    assert "throughput" in text and f"batch {report['entry']['batchSize']}" in text


def test_without_a_name_it_is_the_last_profile_of_the_folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.parent)
    again = ridgeline("report", "--format", "json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads(made.read_text())
    (made.parent / "below").mkdir()
    monkeypatch.chdir(made.parent / "below")
    assert ridgeline("report").returncode == 0, "the folder is in the project"
    monkeypatch.chdir("/proc/self")
    none = ridgeline("report")
    assert none.returncode == 2 and "there is no stored profile of an entry point in this folder" in none.stderr


def test_markdown(made: Path) -> None:
    text = ridgeline("report", made, "--format", "markdown").stdout
    assert text.startswith("### ")
    assert "| peak memory | " in text
    assert "optimizer.step()" in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("there-is-none.json", "there is no file there-is-none.json"),
        ("0123456789abcdef", "no profile 0123456789abcdef is stored"),
        (__file__, "is Python: `ridgeline profile` makes a profile of it"),
        ("/", "/ is a folder"),
    ],
)
def test_what_is_no_profile(name: str, expected: str) -> None:
    done = ridgeline("report", name)
    assert done.returncode == 2
    assert expected in done.stderr
