"""The file of a job, read and written: server/jobs/record/job_file.h describes it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from content_hash import content_hash

_MAGIC = b"RIDGEJOB"
_START = 24  # bytes: the magic, the version and the length of the header
_HASH = 16  # likewise, at the end


def read_job(file: Path) -> dict[str, Any]:
    """The header of a job's file."""
    return json.loads(_parts(file.read_bytes())[0])


def recordings_of(file: Path) -> list[bytes]:
    """The recording of each rank."""
    header, rest = _parts(file.read_bytes())
    recordings, at = [], 0
    for rank in json.loads(header)["ranks"]:
        recordings.append(rest[at : at + rank["recordingBytes"]])
        at += rank["recordingBytes"]
    return recordings


def _parts(content: bytes) -> tuple[bytes, bytes]:
    assert content[:8] == _MAGIC
    (size,) = struct.unpack_from("<Q", content, 16)
    return content[_START : _START + size], content[_START + size : -_HASH]


def records(job: dict[str, Any]) -> list[dict[str, Any]]:
    return [rank["record"] for rank in job["ranks"]]


def on_another_machine(header: dict[str, Any], host: str, clock: Callable[[int], int]) -> dict[str, Any]:
    """The ranks of a job as a machine of that name would have recorded them; `clock` has what its clock then reads."""
    moved = json.loads(json.dumps(header))
    for record in records(moved):
        record["host"] = host
        record["iterations"] = [[step, clock(start), clock(end)] for step, start, end in record["iterations"]]
        record["transfers"] = [[*one[:5], clock(one[5]), clock(one[6])] for one in record["transfers"]]
        for collective in record["collectives"]:
            for name in ("called", "started", "ended"):
                collective[name] = clock(collective[name])
    return moved


def write_job(file: Path, header: dict[str, Any], recordings: Sequence[bytes] = ()) -> Path:
    """A job's file; recordings that are not given are empty."""
    for rank, recording in zip_longest(header["ranks"], recordings, fillvalue=b""):
        rank["recordingBytes"] = len(recording)
    text = json.dumps(header).encode()
    content = _MAGIC + struct.pack("<IIQ", 1, 0, len(text)) + text + b"".join(recordings)
    file.write_bytes(content + content_hash(content).encode())
    return file


def network_text(ranks: int, **all_reduce: list[int]) -> str:
    """A file for --network: one machine of so many ranks, and what was measured of its all-reduces, by the file's
    names."""
    measured = "".join(f"{name} = {values}\n" for name, values in all_reduce.items())
    return f"""\
[[machine]]
name = "node"
ranks = {ranks}

[[link]]
from = "node"
to = "node"
latency_us = 50
bandwidth_gbit_s = 10

[all_reduce]
ranks = {ranks}
{measured}"""
