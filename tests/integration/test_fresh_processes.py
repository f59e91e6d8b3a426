"""A step that gets memory from the system in every iteration is timed in processes that run one batch size each."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT, profile, ridgeline

# Blocks of 36 MiB at the chosen batch size: the C library never keeps such a block.
LARGE = """\
import os
import torch

{when_loaded}
with open({log!r}, "a") as log:
    log.write(f"{{os.getpid()}} loaded\\n")
try:
    os.waitpid(-1, os.WNOHANG)
    raise RuntimeError("a child that this code did not start")
except ChildProcessError:
    pass


def model_provider():
    return torch.nn.Linear(1, 1)


def input_provider(batch_size=3):
    return (torch.ones(batch_size, 3 << 20),)


def iteration_provider(model):
    def iteration(x):
        with open({log!r}, "a") as log:
            log.write(f"{{os.getpid()}} {{len(x)}}\\n")
        ((x * model.weight).relu() * 2).sum().backward()

    return iteration
"""


def entry_in(folder: Path, when_loaded: str = "") -> Path:
    entry = folder / "entry.py"
    entry.write_text(LARGE.format(when_loaded=when_loaded, log=str(folder / "log")))
    return entry


def sizes_by_process(folder: Path) -> dict[str, list[int]]:
    sizes: dict[str, list[int]] = defaultdict(list)
    for line in (folder / "log").read_text().splitlines():
        process, _, size = line.partition(" ")
        sizes[process] += [] if size == "loaded" else [int(size)]
    return sizes


def captured(folder: Path, agent: Path, memory_limit_bytes: int) -> list[dict[str, Any]]:
    """The step with three samples, and with one."""
    script = ROOT / "tests" / "integration" / "capture_steps.py"
    command = [sys.executable, script, entry_in(folder), agent, str(memory_limit_bytes), "batch-size:1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_page_faults_of_a_large_step_are_observed_in_a_process_of_its_own(tmp_path: Path, agent: Path) -> None:
    """Before the step of the process has run, and only where the heap does not keep what it frees."""
    three, one = captured(tmp_path, agent, 64 << 30)
    assert len(three["pageFaultNs"]) == len(three["operations"]["sequence"]) // 4
    assert max(three["pageFaultNs"]) > 1_000_000, "36 MiB are 9,216 pages"
    assert one["pageFaultNs"] == []
    assert len(sizes_by_process(tmp_path)) > 1, "in other processes than the one that lists"


@pytest.mark.long
def test_page_faults_are_not_observed_where_there_may_be_no_memory(tmp_path: Path, agent: Path) -> None:
    for limit in (0, 100 << 20):
        assert [one["pageFaultNs"] for one in captured(tmp_path, agent, limit)] == [[], []]


def test_each_process_runs_one_batch_size(tmp_path: Path) -> None:
    report = profile(entry_in(tmp_path), "--batch-sizes", "3,4", "--seconds", "4")
    (recording, sizes), *others = sizes_by_process(tmp_path).items()
    assert recording and set(sizes) == {3, 4}
    timed = defaultdict(list)
    for _, sizes in others:
        assert len(set(sizes)) == 1
        timed[sizes[0]].append(len(sizes))
    for sample in report["models"]["time"]["samples"]:
        size = sample["batchSize"]
        assert len(timed[size]) >= (3 if size == 3 else 2)
        assert 0 < sample["iterations"] < sum(timed[size])  # the others are its warm-up
    assert [warning for warning in report["warnings"] if "gets memory" in warning] == []


@pytest.mark.long
def test_rounds_are_as_long_in_processes_of_different_speed(tmp_path: Path) -> None:
    """The first process decides how long a round is: 8 iterations of 12 ms, where 28 ms would ask for 1."""
    entry = entry_in(tmp_path)
    short = f"""\
        if len(x) == 1:
            import time
            x = x[:, :64]
            time.sleep((0.012, 0.028)[open({str(tmp_path / "log")!r}).read().count("loaded") // 2 % 2])
        ((x"""
    entry.write_text(entry.read_text().replace("        ((x", short))
    report = profile(entry, "--batch-sizes", "1,3", "--seconds", "4")
    assert [warning for warning in report["warnings"] if "before that" in warning] == []
    assert len(sizes_by_process(tmp_path)) >= 5
    assert [sample["batchSize"] for sample in report["models"]["time"]["samples"]] == [1, 3]


@pytest.mark.parametrize(
    ("again", "reason"),
    [
        ("raise OSError('the port is in use')", "OSError: the port is in use"),
        pytest.param("os._exit(3)", "the process ended", marks=pytest.mark.long),
    ],
)
def test_where_the_code_runs_only_once_the_report_says_so(again: str, reason: str, tmp_path: Path) -> None:
    entry = entry_in(tmp_path, f"if os.path.exists({str(tmp_path / 'log')!r}):\n    {again}\n")
    report = profile(entry, "--batch-sizes", "2,3", "--seconds", "4")
    assert [sample["batchSize"] for sample in report["models"]["time"]["samples"]] == [2, 3]
    assert [set(sizes) for sizes in sizes_by_process(tmp_path).values() if sizes] == [{2, 3}]
    warning = next(text for text in report["warnings"] if "gets memory from the system" in text)
    # The size that it takes most of is named, which the machine decides.
    assert reason in warning and re.search("at batch size [23]", warning)


def test_a_step_that_keeps_its_memory_is_timed_where_it_was_recorded(tmp_path: Path) -> None:
    entry = entry_in(tmp_path)
    entry.write_text(entry.read_text().replace("3 << 20", "64"))
    profile(entry, "--batch-sizes", "2,4", "--seconds", "0.2")
    assert [set(sizes) for sizes in sizes_by_process(tmp_path).values()] == [{2, 3, 4}]


@pytest.mark.long
def test_a_change_is_tried_in_processes_that_run_one_of_both_steps(tmp_path: Path) -> None:
    entry = entry_in(tmp_path)
    changes = ("--change", "batch-size:2", "--try", "--seconds", "1")
    done = ridgeline("what-if", entry, *changes, "--format", "json", "--python", PYTHON)
    row = json.loads(done.stdout)["changes"][0]
    assert row["change"] == ["batch-size:2"] and row["tried"]["speedUp"]["value"] > 0
    timed = [sizes for sizes in sizes_by_process(tmp_path).values() if len(set(sizes)) == 1]
    assert {2, 3} <= {sizes[0] for sizes in timed}
