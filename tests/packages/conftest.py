"""The packages of the binary, made for these tests, and environments to install them into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
CACHE = os.environ.get("RIDGELINE_CACHE", str(ROOT / "build" / "cache"))


def run(*command: str | Path, **environment: str) -> str:
    """What a command writes to standard output; it has to succeed. Nothing of this environment is active in it."""
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        env={**kept, "RIDGELINE_CACHE": CACHE, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pack(folder: Path) -> Path:
    run(sys.executable, ROOT / "cmake" / "packages" / "pack.py", BINARY, folder, SOURCE_DATE_EPOCH="315532800")
    return folder


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the packages."""
    return pack(tmp_path_factory.mktemp("packed"))


@pytest.fixture(scope="session")
def wheel(packed: Path) -> Path:
    return only(packed, "*.whl")


@pytest.fixture(scope="session")
def version() -> str:
    return run(BINARY, "--version").strip()


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """An entry point in a folder that has no environment of its own."""
    shutil.copytree(ROOT / "examples" / "mlp", tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "project" / "entry.py"


@pytest.fixture
def pip(tmp_path: Path) -> Callable[..., str]:
    """Runs a command of pip on tmp_path/environment, a new virtual environment; without any package index."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "environment")

    def of_environment(command: str, *arguments: str | Path) -> str:
        offline = ["--no-index"] if command == "install" else []
        python = tmp_path / "environment" / "bin" / "python"
        return run(sys.executable, "-m", "pip", "--python", python, command, *offline, *arguments)

    return of_environment
