"""Examples at other batch sizes than their own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def entry_with(example: str, size: int, folder: Path) -> Path:
    """A copy of the example in `folder` whose batch size is this one."""
    copy = folder / example
    shutil.copytree(ROOT / "examples" / example, copy)
    entry = copy / "entry.py"
    entry.write_text(re.sub(r"batch_size: int = \d+", f"batch_size: int = {size}", entry.read_text()))
    return entry
