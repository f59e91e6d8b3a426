"""Chakra's execution traces, decoded and simulated: https://github.com/mlcommons/chakra, et_def.proto 0.0.4."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def _fields(data: bytes) -> dict[int, list[Any]]:
    fields: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        assert tag & 7 in (0, 2), "the format has numbers, and what has a length"
        value, at = _varint(data, at)
        if tag & 7 == 2:
            assert at + value <= len(data)
            value, at = data[at : at + value], at + value
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def _messages(data: bytes) -> Iterator[dict[int, list[Any]]]:
    at = 0
    while at < len(data):
        size, at = _varint(data, at)
        assert at + size <= len(data)
        yield _fields(data[at : at + size])
        at += size


def _attribute(message: bytes) -> tuple[str, Any]:
    """AttributeProto: its name, and its int32, int64, bool or string."""
    fields = _fields(message)
    ((kind, (value,)),) = ((kind, values) for kind, values in fields.items() if kind != 1)
    assert kind in (7, 9, 27, 29)
    return fields[1][0].decode(), value.decode() if kind == 29 else value


def _node(fields: dict[int, list[Any]]) -> dict[str, Any]:
    packed = fields.get(5, [b""])[0]
    before, at = [], 0
    while at < len(packed):
        value, at = _varint(packed, at)
        before.append(value)
    return {
        "id": fields[1][0],
        "name": fields[2][0].decode(),
        "type": fields[3][0],
        "before": before,
        "us": fields[7][0],
        **dict(_attribute(one) for one in fields.get(10, [])),
    }


def read_trace(file: Path) -> list[dict[str, Any]]:
    """The nodes of a rank; each comes after those that it depends on."""
    metadata, *nodes = _messages(file.read_bytes())
    assert metadata == {1: [b"0.0.4"]}
    read = [_node(fields) for fields in nodes]
    known: set[int] = set()
    for node in read:
        assert node["id"] not in known and set(node["before"]) <= known
        known.add(node["id"])
    return read


def simulated_us(traces: list[list[dict[str, Any]]]) -> float:
    """How long the ranks take, which call the same collectives: each begins when the last rank is there."""
    begins: list[float] = []
    while True:
        walks = [_walk(trace, begins) for trace in traces]
        if any(is_over for is_over, _ in walks):
            assert all(is_over for is_over, _ in walks)
            return max(end for _, end in walks)
        begins.append(max(begin for _, begin in walks))


def _walk(trace: list[dict[str, Any]], begins: list[float]) -> tuple[bool, float]:
    """Whether a rank has no collectives but those that begin at `begins`; and its end, or when it is at the next."""
    ends: dict[int, float] = {}
    passed = 0
    for node in trace:
        begin = max((ends[one] for one in node["before"]), default=0.0)
        if node["type"] == COLLECTIVE:
            if passed == len(begins):
                return False, begin
            begin, passed = max(begin, begins[passed]), passed + 1
        ends[node["id"]] = begin + node["us"]
    return True, max(ends.values())
