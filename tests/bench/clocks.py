"""Clocks of machines, found again: ranks in network namespaces, whose recorded times get an offset and a drift.

The namespaces share the clock of this machine, so that the truth is known. Of each rank after the first, what was
recorded is written as if its clock were up to an hour ahead or behind and ran up to 100 ppm fast or slow, each rank to
a file of its own; `ridgeline job show` then aligns them. Needs root, for the namespaces.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import network_changes

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from job_file import on_another_machine, read_job, records, write_job

COUNTS = (2, 4, 8)
DRAWS = 5  # of clocks, for each recorded job
MODEL, RATE, BUCKET_MB = "cnn", "1gbit", "1"
STEPS = 96
LARGEST_NS = 3_600_000_000_000
LARGEST_DRIFT = 1e-4
ROUNDED_S = 1e-6  # of what is compared: the drift until the first message, and the digits of a double at 10^18 ns
ALL_REDUCE = 0  # jobs::CollectiveKind
HEAD = ["namespaces", "recorded", "messages", "worst error", "widest range", "outside of it", "orders violated"]

Clock = Callable[[int], int]


def rows(binary: Path, counts: Sequence[int] = COUNTS) -> list[list[str]]:
    """A row of each number of namespaces, over all draws of clocks."""
    if os.geteuid() != 0:
        print("skipped: network namespaces need root\n")
        return []
    return [_row(binary, count) for count in counts]


def _row(binary: Path, count: int) -> list[str]:
    with TemporaryDirectory() as folder:
        file = network_changes.record(binary, Path(folder) / "job", MODEL, RATE, BUCKET_MB, "", count, STEPS)
        job = read_job(file)
        draws = [_aligned(binary, Path(folder) / str(seed), job, random.Random(seed)) for seed in range(DRAWS)]
    iterations = [one for record in records(job) for one in record["iterations"]]
    lasts_s = (max(end for _, _, end in iterations) - min(start for _, start, _ in iterations)) / 1e9
    messages = sum(one[1] for record in records(job) for one in record["transfers"])
    errors, widths, outside, violated = zip(*draws, strict=True)
    row = [str(count), f"{lasts_s:.1f} s", str(messages), f"{max(errors) / 1e3:.1f} µs", f"{max(widths) / 1e3:.1f} µs"]
    row += [f"{sum(outside)} of {DRAWS * (count - 1)}", str(sum(violated))]
    print(*row, sep="; ", file=sys.stderr, flush=True)
    return row


def _aligned(binary: Path, folder: Path, job: dict[str, Any], draw: random.Random) -> tuple[float, float, int, int]:
    """For drawn clocks, in ns: the worst error, the widest range; ranges without the truth; orders violated."""
    folder.mkdir()
    begin = min(start for record in records(job) for _, start, _ in record["iterations"])
    clocks = [_clock(begin, draw) if rank > 0 else (lambda ns: ns) for rank in range(len(job["ranks"]))]
    files = [
        write_job(folder / str(rank), on_another_machine({**job, "ranks": [one]}, f"machine{rank}", clock))
        for rank, (one, clock) in enumerate(zip(job["ranks"], clocks, strict=True))
    ]
    shown = _output(binary, files, "json")["clocks"]
    ways = _ways(records(job), _aligned_steps(_output(binary, files, "perfetto"), len(clocks)))
    errors = [abs(way(ns) - ns) for record, way in zip(records(job), ways, strict=True) for ns in _times(record)]
    outside = 0
    for one, clock, record in zip(shown, clocks[1:], records(job)[1:], strict=True):
        truth_s = (record["iterations"][0][1] - clock(record["iterations"][0][1])) / 1e9
        outside += not one["lowS"] - ROUNDED_S <= truth_s <= one["highS"] + ROUNDED_S
    return max(errors), max(1e9 * (one["highS"] - one["lowS"]) for one in shown), outside, _violated(job, ways)


def _clock(begin: int, draw: random.Random) -> Clock:
    offset, drift = draw.randint(-LARGEST_NS, LARGEST_NS), draw.uniform(-LARGEST_DRIFT, LARGEST_DRIFT)
    return lambda ns: ns + offset + round(drift * (ns - begin))


def _output(binary: Path, files: Sequence[Path], form: str) -> Any:
    done = subprocess.run(
        [binary, "job", "show", *files, "--format", form], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def _aligned_steps(timeline: dict[str, Any], count: int) -> list[list[tuple[float, float]]]:
    """By rank: begin and end of each step by the clock of the first machine, nanoseconds from the first step."""
    steps: list[list[tuple[float, float]]] = [[] for _ in range(count)]
    for one in timeline["traceEvents"]:
        if one.get("cat") == "step" and one["ph"] == "X":
            steps[one["pid"] - 1].append((one["ts"] * 1e3, (one["ts"] + one["dur"]) * 1e3))
    return [sorted(own) for own in steps]


def _ways(recorded: list[dict[str, Any]], aligned: list[list[tuple[float, float]]]) -> list[Callable[[int], float]]:
    """By rank, from the true time of an event to what the alignment makes of it: linear, as the clocks are.

    The clock of the first rank is the true one, and stays as it is."""
    origin = recorded[0]["iterations"][0][1]

    def way(record: dict[str, Any], own: list[tuple[float, float]]) -> Callable[[int], float]:
        begin, end = record["iterations"][0][1], record["iterations"][-1][2]
        (first, _), (_, last) = own[0], own[-1]
        return lambda ns: origin - aligned[0][0][0] + first + (last - first) * (ns - begin) / (end - begin)

    return [way(record, own) for record, own in zip(recorded, aligned, strict=True)]


def _times(record: dict[str, Any]) -> list[int]:
    collectives = [one[name] for one in record["collectives"] for name in ("called", "started", "ended")]
    return collectives + [ns for one in record["transfers"] for ns in one[5:7]]


def _violated(job: dict[str, Any], ways: list[Callable[[int], float]]) -> int:
    """Messages that end before they are sent, and all-reduces that end on a rank before the last one has begun."""
    sent, ended, begun, over = {}, {}, {}, {}
    for record, way in zip(records(job), ways, strict=True):
        for _, sends, peer, transaction, _, start, end in record["transfers"]:
            ends = (record["rank"], peer) if sends else (peer, record["rank"])
            (sent if sends else ended)[(*ends, transaction)] = way(start if sends else end)
        for one in record["collectives"]:
            if one["kind"] == ALL_REDUCE:
                key = (one["group"], one["sequence"])
                begun[key] = max(begun.get(key, 0.0), way(one["started"]))
                over[key] = min(over.get(key, float("inf")), way(one["ended"]))
    late = [key for key in sent.keys() & ended.keys() if ended[key] < sent[key] - ROUNDED_S * 1e9]
    return len(late) + sum(over[key] < begun[key] - ROUNDED_S * 1e9 for key in begun)
