"""A project to profile, and a cache of its own for the daemon that does."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path

from conftest import PYTHON, ROOT, ridgeline

SETTINGS = {"timeBudget": 0.2, "saveTimeBudget": 0.1, "batchSizes": [16, 32]}


def copy_of_mlp(folder: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "mlp", folder / "mlp")
    (folder / "mlp" / "pyproject.toml").write_text("")
    return folder / "mlp" / "entry.py"


@functools.cache
def agents() -> Path:
    """Where the agent of this interpreter is, built by now."""
    assert ridgeline("doctor", "--python", PYTHON).returncode == 0
    return Path(os.environ["RIDGELINE_CACHE"]) / "agents"


def cache(folder: Path) -> dict[str, str]:
    """A cache of its own, with the agents of the tests: what is trusted is kept there."""
    if not (folder / "cache").exists():
        (folder / "cache").mkdir(mode=0o700)
        shutil.copytree(agents(), folder / "cache" / "agents")
    return os.environ | {"RIDGELINE_CACHE": str(folder / "cache")}
