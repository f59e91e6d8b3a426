"""The memory that a listed step asks for is what the step asks for when it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from block_entries import entry_of_blocks
from conftest import ROOT

SMALL = 4096  # bytes: such requests are of scalars and of Python's own arrays


def large(requests: list[int]) -> list[tuple[int, int]]:
    """Of each request that is not small, its bytes, and what was alive then of such requests."""
    sizes: list[int] = []
    alive = 0
    found = []
    for request in requests:
        size = request if request > 0 else sizes[~request]
        if request > 0:
            sizes.append(size)
        if size > SMALL:
            alive += size if request > 0 else -size
            if request > 0:
                found.append((size, alive))
    return found


def asked(folder: Path, agent: Path, changes: list[str]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Listed, and really."""
    entry = folder / "entry.py"
    entry.write_text(entry_of_blocks([256, 384, 128], batch_size=96))
    script = ROOT / "tests" / "integration" / "memory_requests.py"
    done = subprocess.run([sys.executable, script, entry, agent, *changes], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return large(found["listed"]), large(found["real"])


@pytest.mark.parametrize("changes", [[], ["checkpoint"], ["offload"], ["batch-size:160"]])
def test_a_listed_step_asks_for_what_the_step_asks_for(changes: list[str], tmp_path: Path, agent: Path) -> None:
    listed, real = asked(tmp_path, agent, changes)
    assert len(listed) > 50
    assert listed == real


def test_a_listing_lacks_only_what_operations_need_for_themselves(tmp_path: Path, agent: Path) -> None:
    """Products of bfloat16 are packed into other memory on the CPU."""
    listed, real = asked(tmp_path, agent, ["bf16-autocast"])
    sizes = iter(size for size, _ in real)
    assert all(size in sizes for size, _ in listed), "in the same order"
    assert len(listed) < len(real)
