"""`parquet_to_chakra.py TRACE.parquet FOLDER`: a job of StragglerAnalysis as execution traces for `ridgeline job show`.

StragglerAnalysis (https://github.com/ByteDance-Seed/StragglerAnalysis) publishes what the ranks of pipeline-parallel
jobs did in some of their steps, a row for each operation. FOLDER, which must not be there yet, gets a file for each
rank. Needs pyarrow, to read Parquet; `traces()` needs rows alone.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = 4, 5, 6, 7  # NodeType of Chakra's et_def.proto
_ALL_REDUCE, _ALL_GATHER, _REDUCE_SCATTER = 0, 2, 7  # CollectiveCommType
# Collectives, and the ranks that call them together: all; those of a stage; or the first and last stage of a replica.
_COLLECTIVES = {
    "params-all-gather": (_ALL_GATHER, "stage"),
    "grads-reduce-scatter": (_REDUCE_SCATTER, "stage"),
    "embedding-grads-all-reduce": (_ALL_REDUCE, "dp_rank"),
    "optimizer-clip-main-grad": (_ALL_REDUCE, ""),
}
_MESSAGES = {
    "forward-send": (1, True),
    "forward-recv": (-1, False),
    "backward-send": (-1, True),
    "backward-recv": (1, False),
}
_SAME_S = 1e-5  # times are of 32 bits


@dataclass
class _Operation:
    """A row; times are seconds since the step began."""

    row: Mapping[str, Any]
    start: float
    end: float
    call: tuple[Any, ...] = ()  # the same for all that communicate together; empty: the rank works
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.row["optype"])

    @property
    def type(self) -> int:
        if not self.call:
            return _COMPUTE
        return _COLLECTIVE if self.name in _COLLECTIVES else _SEND if _MESSAGES[self.name][1] else _RECEIVE


def traces(rows: Iterable[Mapping[str, Any]]) -> dict[int, bytes]:
    """By rank, a file in Chakra's schema 0.0.4. A row has dp_rank, stage, rank, step, optype, start_ts and duration (in
    seconds), seq_id and mc. Communication takes the time from when the last of its ranks began; what a rank does
    between operations is "other work"."""
    rows = list(rows)
    if any(row["mc"] > 0 for row in rows):
        raise ValueError("stages of several parts (vpp_size above 1) are not supported: who sends to whom is not told")
    ranks = {(row["dp_rank"], row["stage"]): row["rank"] for row in rows}
    operations = [_operation(row, ranks) for row in rows]
    calls: dict[tuple[Any, ...], list[_Operation]] = defaultdict(list)
    by_rank: dict[int, dict[int, list[_Operation]]] = defaultdict(lambda: defaultdict(list))
    for one in operations:
        by_rank[one.row["rank"]][one.row["step"]].append(one)
        if one.call:
            calls[one.call].append(one)
    return {rank: _trace(steps, calls) for rank, steps in sorted(by_rank.items())}


def _operation(row: Mapping[str, Any], ranks: Mapping[tuple[int, int], int]) -> _Operation:
    one = _Operation(row, row["start_ts"], row["start_ts"] + row["duration"])
    at = (row["step"], row["seq_id"])
    if one.name in _COLLECTIVES:
        kind, of = _COLLECTIVES[one.name]
        group = f"{of} {row[of]}" if of else "0"
        one.call = (*at, one.name, group)
        one.attributes = {"comm_type": kind, "pg_name": group}
    elif one.name in _MESSAGES:
        towards, sends = _MESSAGES[one.name]
        peer = ranks.get((row["dp_rank"], row["stage"] + towards))
        if peer is None:
            raise ValueError(f"{one.name} of rank {row['rank']}: the stage at its other end is not there")
        ends = (row["rank"], peer) if sends else (peer, row["rank"])
        one.call = (*at, one.name.partition("-")[0], *ends)
        one.attributes = {"comm_src": ends[0], "comm_dst": ends[1], "comm_tag": int(one.name.startswith("backward"))}
    return one


def _trace(steps: Mapping[int, list[_Operation]], calls: Mapping[tuple[Any, ...], list[_Operation]]) -> bytes:
    nodes = [_delimited(_field(1, b"0.0.4"))]

    def add(name: str, kind: int, seconds: float, after: Iterable[int], attributes: Mapping[str, Any]) -> int:
        number = len(nodes)
        nodes.append(_node(number, name, kind, seconds, sorted(after), attributes))
        return number

    before: set[int] = set()  # what the step waits for
    for step in sorted(steps):
        done: list[tuple[_Operation, int]] = []
        last_start, waits = -1.0, before
        for one in sorted(steps[step], key=lambda one: (one.start, one.end)):
            if one.start > last_start + _SAME_S:  # what begins together waits for the same
                last = _last_of_each_type(done, one.start)
                waits = {number for _, number in last} or before
                gap = one.start - max((other.end for other, _ in last), default=0.0)
                if gap > _SAME_S:
                    waits = {add("other work", _COMPUTE, gap, waits, {})}
                last_start = one.start
            done.append((one, add(one.name, one.type, _seconds(one, calls), waits, one.attributes)))
        before = {add(f"end of step {step}", _COMPUTE, 0.0, {number for _, number in done}, {})}
    return b"".join(nodes)


def _last_of_each_type(done: Iterable[tuple[_Operation, int]], start: float) -> list[tuple[_Operation, int]]:
    """The last operation of each type among the rank's operations that were over by then."""
    last: dict[int, tuple[_Operation, int]] = {}
    for one, number in done:
        if one.end <= start + _SAME_S and (one.type not in last or one.end >= last[one.type][0].end):
            last[one.type] = (one, number)
    return list(last.values())


def _seconds(one: _Operation, calls: Mapping[tuple[Any, ...], list[_Operation]]) -> float:
    together = calls[one.call] if one.call else [one]
    # A message is there when either end has it: both ends may wait for others in the same call.
    end = one.end if one.type in (_COMPUTE, _COLLECTIVE) else min(other.end for other in together)
    return max(0.0, end - max(other.start for other in together))


# ---- the format: https://protobuf.dev/programming-guides/encoding ----------------------------------------------------


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _delimited(message: bytes) -> bytes:
    return _varint(len(message)) + message


def _attribute(name: str, value: bool | int | str) -> bytes:
    if isinstance(value, str):
        return _field(1, name.encode()) + _field(29, value.encode())
    return _field(1, name.encode()) + _field(27 if isinstance(value, bool) else 9, int(value))


def _node(
    number: int, name: str, kind: int, seconds: float, after: Iterable[int], attributes: Mapping[str, Any]
) -> bytes:
    message = _field(1, number) + _field(2, name.encode()) + _field(3, kind)
    message += _field(5, b"".join(map(_varint, after))) + _field(7, round(1e6 * seconds))
    for attribute in {"is_cpu_op": kind == _COMPUTE, **attributes}.items():
        message += _field(10, _attribute(*attribute))
    return _delimited(message)


def main(trace: Path, folder: Path) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - not needed by traces()

    files = traces(parquet.read_table(trace).to_pylist())
    folder.mkdir()
    for rank, content in files.items():
        (folder / f"rank.{rank}.et").write_bytes(content)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
