"""Emacs with Eglot as Debian has them, and editors/emacs/ridgeline.el: what comes from the standard surface alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What smoke.el saw."""
    folder = tmp_path_factory.mktemp("emacs")
    shutil.copytree(ROOT / "examples" / "mlp", folder / "project", ignore=shutil.ignore_patterns("__pycache__"))
    own = {
        "HOME": str(folder),
        "ENTRY": str(folder / "project" / "entry.py"),
        "RIDGELINE_BINARY": os.environ.get("RIDGELINE_BINARY", str(ROOT / "build" / "bin" / "ridgeline")),
        "RIDGELINE_PYTHON": sys.executable,
        "RIDGELINE_EMACS": str(ROOT / "editors" / "emacs"),
        "RIDGELINE_CACHE": os.environ.get("RIDGELINE_CACHE", str(ROOT / "build" / "cache")),
    }
    done = subprocess.run(
        ["emacs", "--batch", "--load", HERE / "smoke.el"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | own,
        check=False,
    )
    found = re.search("^JSON (.*)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0 and found, done.stdout + done.stderr
    return json.loads(found[1])


def test_profile_is_a_command_that_asks_first(shown: dict[str, Any]):
    assert "Profiling runs the code of" in shown["asked"]
    assert shown["said"] == "ridgeline: profiled"


def test_hover(shown: dict[str, Any]):
    assert "1 call in one iteration, batch 64" in shown["hover"]


def test_inlay_hints(shown: dict[str, Any]):
    assert "3.07 MiB" in shown["hints"]


def test_code_actions(shown: dict[str, Any]):
    assert any(title.startswith("Set batch size to 128: ") for title in shown["actions"])


def test_diagnostics_and_their_fixes(shown: dict[str, Any]):
    assert any("model_provider" in words for words in shown["diagnostics"])
    assert "Rename to model_provider" in shown["fixes"]
