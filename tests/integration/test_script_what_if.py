"""What changes bring to a training script: it runs again, and changes are switched on and off between its steps."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import PYTHON, ridgeline
from training_scripts import SINGLE, report_of, write

TRAIN = """
    import sys
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(96, 384)
            self.down = nn.Linear(384, 96)

        def forward(self, x):
            return x + self.down(torch.relu(self.up(x)))


    model = nn.Sequential(Block(), Block(), nn.Linear(96, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(4096, 96), torch.randint(8, (4096,))), batch_size=32)
    for _ in range(int(sys.argv[1])):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
"""


def asked(script: Path, *options: str, arguments: tuple[str, ...] = ("1000",), expect: int = 0) -> dict | str:
    common = ("--python", PYTHON, "--seconds", "1", "--measure-seconds", "5", "--try-seconds", "1", "--format", "json")
    done = ridgeline("what-if", str(script), *common, *options, "--", *arguments, **SINGLE)
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout) if expect == 0 else done.stderr


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows_of(answer: dict) -> dict[str, dict]:
    return {"+".join(row["change"]): row for row in answer["changes"]}


def test_changes_of_a_script_are_predicted_and_tried(tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN)
    before = files_of(tmp_path)
    changes = ("fused-optimizer", "bf16-autocast", "checkpoint", "set:0.up:out_features=400", "without:2", "freeze:0")
    answer = asked(script, "--try", *(word for change in changes for word in ("--change", change)))
    rows = rows_of(answer)
    for name in ("fused-optimizer", "checkpoint", "freeze:0"):
        assert rows[name]["predicted"] is not None or rows[name]["notPredicted"], rows[name]
        tried = rows[name]["tried"]
        assert tried["speedUp"]["value"] > 0
        assert tried["lossDrift"] is not None, "the steps are taken again with the same batches"
    assert rows["freeze:0"]["tried"]["speedUp"]["value"] > 1, "half of the backward pass is left out"
    assert rows["fused-optimizer"]["tried"]["lossDrift"] < 1e-4
    assert rows["checkpoint"]["tried"]["lossDrift"] == 0, "it computes the same"
    assert rows["bf16-autocast"]["tried"]["lossDrift"] > 0
    assert "entry point" in rows["set:0.up:out_features=400"]["reason"]
    assert rows["without:2"]["tried"]["lossDrift"] > 0.1, "96 outputs in place of 8"
    assert files_of(tmp_path) == before


NARROW = """
    import sys
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide = nn.Conv2d(8, 32, 1)
            self.deep = nn.Conv2d(32, 32, 3, padding=1, groups=32)
            self.narrow = nn.Conv2d(32, 8, 1)

        def forward(self, x):
            return x + self.narrow(torch.relu(self.deep(torch.relu(self.wide(x)))))


    model = nn.Sequential(*(Block() for _ in range(4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    loader = DataLoader(torch.randn(64, 8, 16, 16), batch_size=4)
    for _ in range(int(sys.argv[1])):
        for x in loader:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
"""


def test_a_change_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    """A kernel of 1×1 is contiguous whether or not its channels are adjacent; convolutions tell by its strides."""
    script = write(tmp_path, NARROW)
    alone = rows_of(asked(script, "--change", "checkpoint"))["checkpoint"]
    after = rows_of(asked(script, "--change", "channels-last", "--change", "checkpoint"))["checkpoint"]
    assert after["predicted"]["peakBytes"] == alone["predicted"]["peakBytes"]


def test_memory_is_that_of_a_script_with_the_change_in_it(tmp_path: Path) -> None:
    """The process keeps what is needed to take a change back, such as the state of what is frozen."""
    script = write(tmp_path, TRAIN)
    peaks = {}
    for name, old, new in (
        ("freeze:0", "optimizer =", "model[0].requires_grad_(False)\n    optimizer ="),
        ("without:1", "Block(), Block()", "Block(), nn.Identity()"),
    ):
        folder = tmp_path / name[:4]
        folder.mkdir()
        report = report_of(write(folder, TRAIN.replace(old, new)), "1000", options=("--stop", "--seconds", "0.2"))
        peaks[name] = report["memory"]["peakBytes"]
    rows = rows_of(asked(script, "--try", "--change", "freeze:0", "--change", "without:1"))
    for name, peak in peaks.items():
        assert rows[name]["tried"]["changedPeakBytes"] == peak, name
        assert rows[name]["predicted"] is None or rows[name]["predicted"]["peakBytes"] == peak, name


def test_a_change_that_the_script_fails_under_ends_no_other(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        TRAIN.replace("class Block", "class Strict")
        .replace("Block()", "Strict()")
        .replace(
            "            return x +",
            "            assert x.requires_grad or x.dtype == torch.float32\n            return x +",
        )
        .replace(
            "loss.backward()", "assert model(x).dtype == torch.float32, 'only float32'\n            loss.backward()"
        ),
    )
    rows = rows_of(asked(script, "--try", "--change", "bf16-autocast", "--change", "fused-optimizer"))
    assert "only float32" in rows["bf16-autocast"]["reason"] + rows["bf16-autocast"].get("notTried", "")
    assert rows["fused-optimizer"]["tried"]["speedUp"]["value"] > 0


def test_a_script_that_writes_needs_permission(tmp_path: Path) -> None:
    written = tmp_path / "steps.txt"
    script = write(
        tmp_path,
        f"open({str(written)!r}, 'w').write('started')\n"
        + "\n".join(line.removeprefix("    ") for line in TRAIN.splitlines()),
    )
    refused = asked(script, "--change", "fused-optimizer", expect=1)
    assert "steps.txt" in refused and "--allow-writes" in refused
    assert not written.exists()
    rows = rows_of(asked(script, "--allow-writes", "--change", "fused-optimizer"))
    assert rows["fused-optimizer"]["reason"] == ""
    assert written.exists()


@pytest.mark.parametrize("epochs", ["0", "1"])
def test_a_script_that_ends_early_says_so(tmp_path: Path, epochs: str) -> None:
    script = write(tmp_path, TRAIN.replace("4096", "640"))
    if epochs == "0":
        assert "training step" in asked(script, "--change", "fused-optimizer", arguments=(epochs,), expect=1)
    else:
        done = ridgeline(
            "what-if", str(script), "--python", PYTHON, "--try", "--change", "freeze:0", "--", epochs, **SINGLE
        )
        told = done.stdout + done.stderr
        assert (
            "before enough steps" in told or "no-training-step" in told
        )  # how many steps warm up is up to the machine


def test_arguments_after_dashes_are_for_scripts(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(
        "def model_provider(): ...\ndef input_provider(batch_size=2): ...\ndef iteration_provider(m): ...\n"
    )
    done = ridgeline("what-if", str(entry), "--python", sys.executable, "--", "1")
    assert done.returncode == 2
    assert "training scripts" in done.stderr
