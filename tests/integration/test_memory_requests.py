"""The memory that a listed step asks for is what the step asks for when it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from block_entries import TRAINED_BY_SGD, entry_of_blocks
from conftest import ROOT

BATCH = 96
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


def requests_of(script: str, entry: Path, agent: Path, changes: list[str]) -> Any:
    arguments = [ROOT / "tests" / "integration" / script, entry, agent, *changes]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def asked(folder: Path, agent: Path, changes: list[str]) -> dict[str, list[int]]:
    """As memory_requests.py prints it."""
    entry = folder / "entry.py"
    entry.write_text(entry_of_blocks([256, 384, 128], BATCH))
    return requests_of("memory_requests.py", entry, agent, changes)


@pytest.mark.parametrize("changes", [[], ["checkpoint"], ["offload"], ["batch-size:160"]])
def test_a_listed_step_asks_for_what_the_step_asks_for(changes: list[str], tmp_path: Path, agent: Path) -> None:
    found = asked(tmp_path, agent, changes)
    listed, real = large(found["listed"]), large(found["real"])
    assert len(listed) > 50
    assert listed == real


def test_a_listing_lacks_only_what_operations_need_for_themselves(tmp_path: Path, agent: Path) -> None:
    """Products of bfloat16 are packed into other memory on the CPU. Of steps that are listed while they run, it is left
    out. What these have besides are sums of two gradients, which torch makes in place where no dispatch mode is on."""
    found = asked(tmp_path, agent, ["bf16-autocast"])
    listed, real = large(found["listed"]), large(found["real"])
    sizes = iter(size for size, _ in real)
    assert all(size in sizes for size, _ in listed), "in the same order"
    assert len(listed) < len(real)
    own = found["own"]
    mark = own.index(0)
    sizes_listed = Counter(size for size, _ in listed)
    sizes_own = Counter(size for size, _ in large([*own[:mark], *own[mark + 1 :]]))
    assert sizes_listed - sizes_own == Counter()
    assert sizes_own - sizes_listed == {BATCH * 96 * 4: 2 * 3}, "two in each of three steps"
    built = 3 * 4 + 1  # the parameters of three blocks, and the input
    first, others = (sum(one > 0 for one in part) for part in (own[:mark], own[mark:]))
    assert others == 2 * (first - built)


def test_changed_steps_of_a_script_ask_for_what_those_of_an_entry_point_ask_for(tmp_path: Path, agent: Path) -> None:
    """The most that is alive at once. A frozen block has no gradients, and nothing that the optimizer keeps, though
    the script's optimizer keeps it to take the change back."""
    entry = tmp_path / "entry.py"
    adam = TRAINED_BY_SGD.replace("SGD(model.parameters(), lr=1e-3)", "Adam(model.parameters())")
    assert adam != TRAINED_BY_SGD
    entry.write_text(entry_of_blocks([256, 384, 128], batch_size=256).replace(TRAINED_BY_SGD, adam))
    found = requests_of("script_requests.py", entry, agent, ["checkpoint", "freeze:blocks.1"])
    peaks = {name: [max(alive for _, alive in large(one)) for one in steps] for name, steps in found.items()}
    assert peaks["script"] == peaks["entry"]
    assert len(set(peaks["script"])) == 3, "each change makes another peak"
