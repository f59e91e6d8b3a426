"""Other batch sizes of a script: the command runs again, and predictions are made of that."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from conftest import ROOT, ridgeline
from training_scripts import SINGLE, TRAIN, report_of, run, write

STOP = ("--stop", "--seconds", "1", "--steps", "3")
AGENTS = Path(os.environ.get("RIDGELINE_CACHE") or Path.home() / ".cache" / "ridgeline") / "agents"


@pytest.fixture
def folder_that_stays() -> Iterator[Path]:
    """Outside of the folders for temporary files."""
    folder = ROOT / "build" / "written-by-a-script"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


def sampled(report: dict) -> list[int]:
    return [one["batchSize"] for one in report["models"]["memory"]["samples"]]


def test_other_batch_sizes_are_run_and_predicted(tmp_path: Path) -> None:
    cache = {"RIDGELINE_CACHE": str(tmp_path / "cache"), **SINGLE}
    (tmp_path / "cache").mkdir(mode=0o700)
    shutil.copytree(AGENTS, tmp_path / "cache" / "agents")  # so that none is built
    script = write(tmp_path, TRAIN)
    file = tmp_path / "report.json"
    options = ("--batch-sizes", "16,64", "--format", "json", "--output", str(file), *STOP)
    done = ridgeline("profile", "--python", sys.executable, *options, script, "100000", **cache)
    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text())
    assert report["skipped"] == []
    assert sampled(report) == [16, 32, 64]
    assert report["models"]["memory"]["peak"] is not None, "the allocations of the three were matched"

    asked = ("predict", script, "--python", sys.executable, "--batch-size", "48", "--format", "json")
    answer = ridgeline(*asked, **cache)
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["profile"]["stored"]
    assert ridgeline("report", report["id"], **cache).returncode == 0

    script.write_text(script.read_text() + "# changed\n")
    answer = ridgeline(*asked, "--batch-sizes", "32", "--seconds", "0.2", **cache)
    assert answer.returncode == 0 and not json.loads(answer.stdout)["profile"]["stored"]
    by_id = ("predict", report["id"], *asked[2:])
    assert ridgeline(*by_id, **cache).returncode == 0
    assert "no run may write files" in answer.stderr


@pytest.mark.long
def test_accumulation_scales_each_batch(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        loader = DataLoader(TensorDataset(torch.randn(8192, 64)), batch_size=8)
        while True:
            for i, (x,) in enumerate(loader):
                (model(x).square().mean() / 4).backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    )
    report = report_of(script, options=("--batch-sizes", "16", *STOP))
    assert sampled(report) == [16, 32], "four batches of 4, and of 8"


@pytest.mark.parametrize(
    ("loader", "expected"),
    [
        ("[x.split(32)[0]] * 10", "no DataLoader gives the step its data"),
        ("DataLoader(x.split(32), batch_size=None)", "the data set makes the batches"),
        ("DataLoader(x, batch_sampler=[list(range(32))] * 10)", "list makes the batches"),
    ],
)
def test_what_cannot_be_given_another_batch_size(tmp_path: Path, loader: str, expected: str) -> None:
    script = write(
        tmp_path,
        f"""
        import torch
        from torch.utils.data import DataLoader
        x = torch.randn(320, 64)
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        while True:
            for batch in {loader}:
                optimizer.zero_grad()
                model(batch).square().mean().backward()
                optimizer.step()
        """,
    )
    report = report_of(script, options=("--batch-sizes", "auto", *STOP))
    assert sampled(report) == [32]
    assert any(f"No other batch size was run: {expected}" in warning for warning in report["warnings"])


WITHOUT_LOADER = """
import sys
import torch
{number}
data = torch.randn(999, 64)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
assert __name__ == "__main__" and __file__ == {file!r} and sys.path[0] == {folder!r} and "number" not in globals()
while True:
    x = data[torch.randint(len(data), (batch_size,))]
    optimizer.zero_grad()
    model(x).square().mean().backward()  # the line
    optimizer.step()
"""
OPTION = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
batch_size = parser.parse_args().batch_size
"""


@pytest.mark.parametrize(
    ("number", "arguments", "own"),
    [("batch_size = 32", (), 32), (OPTION, (), 32), (OPTION, ("--batch-size", "16"), 16)],
    ids=["constant", "option", "argument"],
)
def test_the_number_of_a_script_without_a_loader_is_replaced(
    tmp_path: Path, number: str, arguments: tuple[str, ...], own: int
) -> None:
    path = tmp_path / "train.py"
    script = write(tmp_path, WITHOUT_LOADER.format(number=number, file=str(path), folder=str(tmp_path)))
    before = script.read_bytes()
    report = report_of(script, *arguments, options=("--batch-sizes", "24,64", *STOP))
    assert sampled(report) == sorted([own, 24, 64]), report["skipped"] + report["warnings"]
    assert script.read_bytes() == before
    peak = {one["batchSize"]: one["peakBytes"] for one in report["models"]["memory"]["samples"]}
    assert peak[64] - peak[24] >= 40 * 64 * 4, "inputs and outputs of 40 more samples"


def test_a_script_that_writes_is_run_again_only_when_it_may(tmp_path: Path, folder_that_stays: Path) -> None:
    log = folder_that_stays / "log"
    script = write(tmp_path, f"print('ran', file=open({str(log)!r}, 'a'))\n" + TRAIN)
    report = report_of(script, "100000", options=("--batch-sizes", "16", *STOP))
    assert sampled(report) == [32]
    (warning,) = [one for one in report["warnings"] if "--allow-writes" in one]
    assert str(log) in warning
    assert log.read_text() == "ran\n", "and neither was it emptied"
    report = report_of(script, "100000", options=("--batch-sizes", "16", "--allow-writes", *STOP))
    assert sampled(report) == [16, 32]
    assert log.read_text() == "ran\nran\nran\n"


@pytest.mark.long
def test_a_checkpoint_stays_that_of_the_first_run(tmp_path: Path, folder_that_stays: Path) -> None:
    """The further run is measured with its loader's processes, and ends where it would write."""
    checkpoint = folder_that_stays / "checkpoint.pt"
    text = TRAIN.replace("batch_size=32)", "batch_size=32, num_workers=2)")
    text = text.replace(
        "    main()\n",
        f"""    import os, tempfile
    os.makedirs(tempfile.gettempdir(), exist_ok=True)
    try:
        main()
    finally:
        torch.save(os.getpid(), {str(checkpoint)!r})
        print(os.getpid())
""",
    )
    script = write(tmp_path, text)
    file = tmp_path / "report.json"
    done = run(script, "100000", options=("--batch-sizes", "16", "--format", "json", "--output", str(file), *STOP))
    report = json.loads(file.read_text())
    assert sampled(report) == [16, 32], report["warnings"] + report["skipped"]
    assert torch.load(checkpoint) == int(done.stdout)


@pytest.mark.long
def test_a_batch_size_at_which_the_script_fails_is_skipped(tmp_path: Path) -> None:
    text = TRAIN.replace("optimizer.zero_grad()", "optimizer.zero_grad()\n            assert len(x) != 64, 'too many'")
    report = report_of(write(tmp_path, text), "100000", options=("--batch-sizes", "16,64,1000", *STOP))
    assert sampled(report) == [16, 32]
    skipped = {one["batchSize"]: one for one in report["skipped"]}
    assert "too many" in skipped[64]["message"]
    assert "640" in skipped[1000]["message"], "there are no more samples"


def test_the_users_own_run_is_the_only_one_that_is_seen(tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN)
    alone = run(script, "60")
    sizes = run(script, "60", options=("--batch-sizes", "16"))
    assert sizes.stdout == alone.stdout, "the same weights, once"
