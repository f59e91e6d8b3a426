"""`ridgeline report snapshot.pickle`: memory snapshots of torch.cuda.memory."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from conftest import ridgeline
from memory_snapshot import MIB, ROOT, train


def written(folder: Path, snapshot: object, protocol: int = 4) -> Path:
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot, protocol))
    return path


def report(path: Path, *options: str) -> dict[str, Any]:
    done = ridgeline("report", path, "--format", "json", "--project-root", ROOT, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_line(moment: dict[str, Any]) -> dict[str, int]:
    lines: dict[str, int] = {}
    for line in moment["lines"]:
        name = f"{line['file']}:{line['line']}" if line["file"] else ""
        lines[name] = lines.get(name, 0) + line["bytes"]
    return lines


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_byte_is_on_its_line(tmp_path: Path, protocol: int) -> None:
    device, snapshot = train()
    answer = report(written(tmp_path, snapshot, protocol))
    assert answer["atPeak"]["allocatedBytes"] == device.peak
    assert by_line(answer["atPeak"]) == device.peak_lines
    assert answer["atEnd"]["allocatedBytes"] == device.allocated
    assert by_line(answer["atEnd"]) == device.lines()
    assert answer["atEnd"]["reservedBytes"] == sum(device.reserved.values())
    for moment in (answer["atPeak"], answer["atEnd"]):
        assert sum(moment["byUse"].values()) == moment["allocatedBytes"]
        assert moment["byUse"]["weights"] == 64 * MIB
        assert moment["byUse"]["optimizer"] == 128 * MIB
    assert answer["atPeak"]["byUse"]["activations"] == 200 * MIB
    assert answer["atPeak"]["byUse"]["withoutStack"] == 64 * MIB, "the gradient has no stack"
    assert answer["fragments"]["freeBytes"] == answer["fragments"]["largestFreeBytes"] == 32 * MIB
    assert answer["recordedMs"] == len(device.events) - 1
    assert max(point[1] for point in answer["overTime"]) == device.peak
    assert answer["warnings"] == []


def test_private_pools_are_apart(tmp_path: Path) -> None:
    _, snapshot = train(private=[(40 * MIB, False), (24 * MIB, True)])
    path = written(tmp_path, snapshot)
    assert report(path)["privatePools"] == {"pools": 2, "reservedBytes": 64 * MIB, "allocatedBytes": 40 * MIB}
    assert "64.0 MiB are reserved at the end in 2 pools" in " ".join(ridgeline("report", path).stdout.split())
    _, snapshot = train()
    assert report(written(tmp_path, snapshot))["privatePools"]["pools"] == 0


def test_what_every_step_leaves_behind_is_found(tmp_path: Path) -> None:
    _, snapshot = train(steps=8)
    answer = report(written(tmp_path, snapshot))
    (growth,) = answer["growth"]
    assert (growth["line"]["file"], growth["line"]["line"]) == ("train.py", 46)
    assert answer["periodsAreSteps"]
    assert growth["bytesAPeriod"] == pytest.approx(MIB, rel=0.2)
    assert report(written(tmp_path, train(steps=8, leak=0)[1]))["growth"] == []


def test_an_error_says_who_asked_and_what_is_lacking(tmp_path: Path) -> None:
    device, snapshot = train(fails=True)
    path = written(tmp_path, snapshot)
    error = report(path)["outOfMemory"]
    assert error["askedBytes"] == 4096 * MIB
    assert error["deviceFreeBytes"] == 100 * MIB
    assert (error["by"]["file"], error["by"]["line"]) == ("model.py", 30)
    assert error["moment"]["allocatedBytes"] == device.allocated
    text = ridgeline("report", path, "--project-root", ROOT).stdout
    words = " ".join(text.split())
    assert "model.py:30 in forward asked for 4.00 GiB; the device had 100 MiB free" in words
    assert "3.87 GiB are lacking" in words  # 32 MiB are reserved and free
    page = ridgeline("report", path, "--format", "html", "--project-root", ROOT).stdout
    assert "<svg" in page
    assert "model.py:30 in forward" in page


def test_a_history_that_begins_late_counts_what_was_there_before(tmp_path: Path) -> None:
    device, snapshot = train(truncate=30)
    answer = report(written(tmp_path, snapshot))
    assert answer["atPeak"]["allocatedBytes"] == device.peak
    assert answer["atEnd"]["allocatedBytes"] == device.allocated


def test_a_snapshot_without_history_has_its_state(tmp_path: Path) -> None:
    device, snapshot = train()
    snapshot["device_traces"] = []
    answer = report(written(tmp_path, snapshot))
    assert answer["atPeak"] is None
    assert by_line(answer["atEnd"]) == device.lines()
    assert "No history was recorded" in answer["warnings"][0]


def test_blocks_of_torch_2_0_have_their_stack_in_a_history(tmp_path: Path) -> None:
    device, snapshot = train()
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            frames = block.pop("frames")
            del block["address"]
            if frames:
                block["history"] = [{"addr": 1, "real_size": block["size"], "frames": frames}]
    snapshot["device_traces"] = []
    assert by_line(report(written(tmp_path, snapshot))["atEnd"]) == device.lines()


def test_nothing_of_a_pickle_is_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "was-run",))

    for protocol in (2, 4):
        path = written(tmp_path, {"segments": [], "device_traces": [[Evil()]]}, protocol)
        done = ridgeline("report", path)
        assert done.returncode == 1
        assert "would run code" in done.stderr
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("wrong", [{"a": 1}, [], 5, {"segments": [1, 2]}, {"segments": {}, "device_traces": 3}])
def test_what_is_no_snapshot_is_refused(tmp_path: Path, wrong: object) -> None:
    done = ridgeline("report", written(tmp_path, wrong))
    if done.returncode == 0:
        assert wrong == []
    else:
        assert "snapshot" in done.stderr


def test_a_damaged_file_is_salvaged_or_refused(tmp_path: Path) -> None:
    """Cut off at any place, and with bytes changed: an answer or an error, in time."""
    chance = random.Random(8)
    whole = pickle.dumps(train()[1], 4)
    path = tmp_path / "snapshot.pickle"
    salvaged = 0
    for _ in range(20):
        path.write_bytes(whole[: chance.randrange(3, len(whole))])
        done = ridgeline("report", path, "--format", "json")
        assert done.returncode in (0, 1), done.stderr
        if done.returncode == 0:
            salvaged += 1
            assert "cut off" in json.loads(done.stdout)["warnings"][0]
    assert salvaged > 10
    for _ in range(40):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 9)):
            damaged[chance.randrange(2, len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        done = ridgeline("report", path, "--format", "json")
        assert done.returncode in (0, 1), done.stderr
        assert done.returncode == 0 or done.stderr.strip()
