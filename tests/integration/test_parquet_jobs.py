"""examples/parquet_to_chakra.py: what it makes of the rows of a job, replayed. Nothing here reads Parquet."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import chakra
import pytest
from conftest import ROOT, ridgeline

sys.path.insert(0, str(ROOT / "examples"))
import parquet_to_chakra

STEPS = (23, 25, 33)
Rows = list[dict[str, Any]]


def rows_of(dp_rank: int, slow: float) -> Rows:
    """Two stages, of which the second waits for the first and back; each step takes 1.0 s, and `slow`."""
    rows = []
    for step in STEPS:
        for stage, operations in enumerate(
            (
                [
                    ("params-all-gather", 0.0, 0.1),
                    ("forward-compute", 0.15, 0.15 + slow),  # after 50 ms of something else
                    ("forward-send", 0.3 + slow, 0.01),
                    ("backward-recv", 0.3 + slow, 0.41),
                    ("backward-compute", 0.71 + slow, 0.2),
                    ("grads-reduce-scatter", 0.91 + slow, 0.09),
                ],
                [
                    ("params-all-gather", 0.0, 0.1),
                    ("forward-recv", 0.1, 0.21 + slow),
                    ("forward-compute", 0.31 + slow, 0.19),
                    ("backward-compute", 0.5 + slow, 0.2),
                    ("backward-send", 0.7 + slow, 0.01),
                    ("grads-reduce-scatter", 0.71 + slow, 0.09),
                ],
            )
        ):
            for name, start, duration in operations:
                row = {"dp_rank": dp_rank, "stage": stage, "rank": dp_rank + 2 * stage, "step": step, "optype": name}
                rows.append({**row, "start_ts": start, "duration": duration, "seq_id": 0, "mc": -1})
    return rows


def write(folder: Path, rows: Rows) -> list[Path]:
    files = []
    for rank, content in parquet_to_chakra.traces(rows).items():
        files.append(folder / f"rank.{rank}.et")
        files[-1].write_bytes(content)
    return files


def test_a_job_takes_as_long_as_it_did_and_its_slow_rank_is_named(tmp_path: Path) -> None:
    fast, slow = rows_of(0, 0.0), rows_of(1, 0.3)
    for row, other in zip(fast, slow, strict=True):
        if row["optype"] == "grads-reduce-scatter":  # it ends when the slow one has called it, too
            row["duration"] = other["start_ts"] + other["duration"] - row["start_ts"]
    files = write(tmp_path, fast + slow)
    assert [file.name for file in files] == [f"rank.{rank}.et" for rank in range(4)]
    shown = ridgeline("job", "show", *files, "--change", "rank-like-others:1")
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"Replay of steps 23 to 33\n  1\.30 s for a step", shown.stdout), shown.stdout
    assert re.search(r"rank-like-others:1 +1(\.00)? s ", shown.stdout), shown.stdout
    assert "Rank 1 is " in shown.stdout


def test_communication_takes_the_time_from_its_last_start(tmp_path: Path) -> None:
    nodes = chakra.read_trace(write(tmp_path, rows_of(0, 0.0))[0])
    first = {node["name"]: node for node in nodes if node["id"] < 10}
    assert first["forward-send"]["us"] == pytest.approx(10_000, abs=1)
    assert first["backward-recv"]["us"] == pytest.approx(10_000, abs=1), "not the 410 ms of waiting"
    assert first["other work"]["us"] == pytest.approx(50_000, abs=1)
    assert (first["forward-send"]["comm_src"], first["forward-send"]["comm_dst"]) == (0, 2)


def test_what_cannot_be_told_is_an_error() -> None:
    rows = rows_of(0, 0.0)
    with pytest.raises(ValueError, match="vpp_size"):
        parquet_to_chakra.traces([{**rows[0], "mc": 1}])
    with pytest.raises(ValueError, match="not there"):
        parquet_to_chakra.traces([row for row in rows if row["stage"] == 0])
