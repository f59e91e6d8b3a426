"""A step that runs out of memory: what was allocated when the error came, by line and category, and what would fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from block_entries import TRAINED_BY_SGD
from conftest import PYTHON, profile, ridgeline

WIDTH, BATCH = 1 << 14, 1 << 11
HIDDEN, INPUTS = 4 * WIDTH * BATCH, 4 * 64 * BATCH
WEIGHTS = 4 * (2 * 64 * WIDTH + WIDTH + 64)
ENTRY = f"""import resource
import torch
from torch import nn

ROOM = ROOM_BYTES


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, {WIDTH})
        self.down = nn.Linear({WIDTH}, 64)

    def forward(self, x):
        hidden = self.up(x)
        hidden = torch.tanh(hidden)
        return self.down(hidden)


def model_provider():
    return Net()


def input_provider(batch_size={BATCH}):
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
    if ROOM > 0:
        resource.setrlimit(resource.RLIMIT_DATA, (used + ROOM, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    return (torch.ones(batch_size, 64),)


"""
ENTRY += TRAINED_BY_SGD


def line_of(text: str) -> int:
    return ENTRY.splitlines().index(text) + 1


def alive(found: dict[str, Any]) -> dict[tuple[int, str], int]:
    return {
        (one["location"]["line"] if one["location"] else 0, one["category"]): one["bytes"] for one in found["lines"]
    }


def written(folder: Path, room: int, text: str = ENTRY) -> Path:
    """An entry point whose step gets so many bytes besides what the process has before it."""
    file = folder / "entry.py"
    file.write_text(text.replace("ROOM_BYTES", str(room)))
    return file


def test_in_forward_the_line_that_asked_and_what_was_allocated(tmp_path: Path) -> None:
    """There is room for one hidden layer, and not for the second."""
    found = profile(written(tmp_path, 3 * HIDDEN // 2), "--seconds", "0.3")["outOfMemory"]
    assert found["wasRun"] and found["batchSize"] == BATCH and found["askedBytes"] == HIDDEN
    assert found["location"]["line"] == line_of("        hidden = torch.tanh(hidden)")
    assert found["operation"] == "tanh"
    assert found["allocatedBytes"] == sum(found["byCategory"].values()) == sum(one["bytes"] for one in found["lines"])
    assert found["byCategory"]["activations"] == HIDDEN and found["byCategory"]["inputs"] == INPUTS
    assert found["byCategory"]["weights"] == WEIGHTS
    assert alive(found)[line_of("        hidden = self.up(x)"), "activations"] == HIDDEN
    assert found["lines"][0]["bytes"] == HIDDEN, "the largest first"
    assert found["predictedBytes"] > 3 * HIDDEN
    assert BATCH % found["fittingParts"] == 0 and found["partsBytes"] > 0


def test_in_backward_it_is_the_line_of_forward(tmp_path: Path) -> None:
    """What tanh returned is kept for backward, which makes two more of that size."""
    found = profile(written(tmp_path, 5 * HIDDEN // 2), "--seconds", "0.3")["outOfMemory"]
    assert found["askedBytes"] == HIDDEN
    assert found["location"]["line"] == line_of("        hidden = torch.tanh(hidden)")
    assert alive(found)[line_of("        hidden = torch.tanh(hidden)"), "activations"] == HIDDEN
    assert found["byCategory"]["temporaries"] == pytest.approx(HIDDEN, rel=0.02)


def test_the_report_says_it_in_words(tmp_path: Path) -> None:
    entry = written(tmp_path, 3 * HIDDEN // 2)
    done = ridgeline("profile", entry, "--python", PYTHON, "--seconds", "0.3")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    asked, made = line_of("        hidden = torch.tanh(hidden)"), line_of("        hidden = self.up(x)")
    assert f"Batch {BATCH} ran out of memory: entry.py:{asked} (tanh) asked for 128 MiB when 137 MiB were" in text
    assert f"Most of it: 128 MiB activations, entry.py:{made}" in text
    assert "Gradient accumulation over" in text and f"`ridgeline predict --make-fit {BATCH}`" in text


def test_a_step_that_never_fits_fails_with_the_same(tmp_path: Path) -> None:
    """The weights leave no room for their gradients."""
    wide = ENTRY.replace(f"{WIDTH}", str(1 << 19)).replace(f"batch_size={BATCH}", "batch_size=2")
    done = ridgeline("profile", written(tmp_path, 100 << 20, wide), "--python", PYTHON, "--seconds", "0.3")
    assert done.returncode != 0
    text = " ".join(done.stderr.split())
    assert "Batch 2 ran out of memory" in text and "weights 258 MiB" in text


@pytest.mark.long
def test_a_batch_that_is_not_run_is_predicted(tmp_path: Path) -> None:
    """A large batch is not run before small ones have shown that it fits."""
    large = ENTRY.replace(f"batch_size={BATCH}", f"batch_size={8 * BATCH}")
    entry = written(tmp_path, 0, large)
    found = profile(entry, "--memory-limit", "2GiB", "--seconds", "0.3")["outOfMemory"]
    assert not found["wasRun"] and "askedBytes" not in found and found["location"] is None
    assert found["byCategory"]["activations"] == pytest.approx(8 * HIDDEN, rel=0.01)
    assert found["allocatedBytes"] == sum(found["byCategory"].values()) == sum(one["bytes"] for one in found["lines"])


SCRIPT = ENTRY.partition("def model_provider")[0]
SCRIPT += f"""model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.ones({BATCH}, 64)
for step in range(100):
    if step == LIMITED_STEP:
        with open("/proc/self/status") as status:
            used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (used + ROOM, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    optimizer.zero_grad()
    loss = model(data).mean()
    loss.backward()
    optimizer.step()
"""


def script_in(folder: Path, step: int, room: int) -> Path:
    """A script that gets so many bytes, from a step on, besides what it has then."""
    script = folder / "train.py"
    script.write_text(SCRIPT.replace("LIMITED_STEP", str(step)).replace("ROOM_BYTES", str(room)))
    return script


def error_of_script(folder: Path, step: int, room: int) -> str:
    """What is said of that script, which ends before its steps are recorded."""
    done = ridgeline("profile", "--python", PYTHON, "--", script_in(folder, step, room))
    assert done.returncode != 0 and "Traceback" in done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(("step", "named"), [(0, "The step"), (3, f"Batch {BATCH}")])
def test_a_script_that_runs_out_of_memory_in_forward(tmp_path: Path, step: int, named: str) -> None:
    """Before anything was recorded, and while it warms up."""
    text = error_of_script(tmp_path, step, 3 * HIDDEN // 2)
    lines = SCRIPT.splitlines()
    asked, made = (lines.index(f"        hidden = {call}") + 1 for call in ("torch.tanh(hidden)", "self.up(x)"))
    assert f"{named} ran out of memory: train.py:{asked} asked for 128 MiB when 137 MiB were allocated" in text
    assert "activations 128 MiB (94 %), weights 8.06 MiB (5.9 %), inputs 512 KiB (0.4 %)" in text
    assert f"Most of it: 128 MiB activations, train.py:{made}; 4.06 MiB weights, train.py:" in text
    assert "Most of it grows with the batch: a smaller one, gradient accumulation or activation checkpointing" in text


def test_a_script_that_runs_out_of_memory_after_its_steps_were_recorded(tmp_path: Path) -> None:
    """While they are timed, or after that: the report says what the error does, and has the recorded step."""
    script, output = script_in(tmp_path, 40, 3 * HIDDEN // 2), tmp_path / "report.json"
    options = ("--python", PYTHON, "--steps", "1", "--seconds", "0.3", "--format", "json", "--output", output)
    done = ridgeline("profile", *options, "--", script)
    assert "can't allocate memory" in done.stderr
    report = json.loads(output.read_text())
    found = report["outOfMemory"]
    assert found["wasRun"] and found["askedBytes"] == HIDDEN and found["batchSize"] == BATCH
    lines = [SCRIPT.splitlines().index(f"        hidden = {call}") + 1 for call in ("self.up(x)", "torch.tanh(hidden)")]
    assert found["location"]["line"] in lines, "which, depends on what the process keeps for itself"
    assert found["lines"] == [] and found["allocatedBytes"] == 0, "that was not recorded"
    assert found["predictedBytes"] == report["memory"]["peakBytes"]


def test_a_script_that_runs_out_of_memory_in_backward(tmp_path: Path) -> None:
    """What is allocated then is freed by the error before the script ends."""
    text = error_of_script(tmp_path, 0, 5 * HIDDEN // 2)
    asked = SCRIPT.splitlines().index("    loss.backward()") + 1
    assert f"The step ran out of memory: train.py:{asked} asked for 128 MiB when 269 MiB were allocated" in text
    for part in ("activations 128 MiB", "temporaries 128 MiB", "weights 8.06 MiB", "gradients 4.00 MiB"):
        assert part in text
