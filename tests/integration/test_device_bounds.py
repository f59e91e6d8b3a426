"""What lines attain of what `ridgeline machine measure` measured of this processor, in an entry point and in a
script."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import LINEAR_ENTRY, PYTHON, profile, ridgeline
from content_hash import content_hash
from training_scripts import SINGLE, TRAIN, number_of, write


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One of its own, with the agents of the tests, in which this processor was measured, however badly."""
    folder = tmp_path_factory.mktemp("cache")
    agents = Path(os.environ["RIDGELINE_CACHE"]) / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    (folder / "agents").symlink_to(agents)
    environment = {**SINGLE, "RIDGELINE_CACHE": str(folder)}
    done = ridgeline("machine", "measure", "--seconds", "0.01", "--format", "json", **environment)
    assert done.returncode == 0, done.stderr
    if not (folder / "devices").exists():  # other processes disturbed it
        keep(folder, done.stdout)
    return environment


def keep(folder: Path, description: str) -> None:
    """Where known_device.cpp looks for it: by the hash of the benchmarks' number, the processor's name and the
    number of processors."""
    device = json.loads(description)
    identity = content_hash(b"2\xff" + device["name"].encode() + b"\xff" + str(device["computeUnits"]).encode())
    (folder / "devices").mkdir()
    (folder / "devices" / f"{identity}.json").write_text(description)


def assert_bounded(work: dict[str, Any]) -> None:
    assert work["device"]["measured"]
    assert work["device"]["units"] == 1
    total = work["total"]
    assert 0 < total["computeBoundMs"] <= total["boundMs"]
    assert 0 < total["boundedMs"] <= total["timeMs"]
    assert sum(line["boundMs"] for line in work["lines"]) == pytest.approx(total["boundMs"])


@pytest.mark.long
def test_of_an_entry_point(cache: dict[str, str], tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(LINEAR_ENTRY)
    report = profile(entry, "--batch-sizes", "16", "--seconds", "0.2", **cache)
    assert_bounded(report["work"])
    entry.write_text(LINEAR_ENTRY + "\n")
    options = ("--python", PYTHON, "--batch-sizes", "16", "--seconds", "0.2")
    done = ridgeline("profile", entry, *options, **cache)
    shown = " ".join(done.stdout.split())
    assert "They attain " in shown and " of the roofline, " in shown


def test_of_a_script(cache: dict[str, str], tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN)
    file = tmp_path / "report.json"
    options = ("--stop", "--steps", "3", "--seconds", "0.2", "--format", "json", "--output", file)
    done = ridgeline("profile", "--python", PYTHON, *options, script, "100000", **cache)
    assert done.returncode == 0, done.stderr
    work = json.loads(file.read_text())["work"]
    assert_bounded(work)
    assert number_of(script, "self.out(torch.relu") in {line["line"] for line in work["lines"]}
