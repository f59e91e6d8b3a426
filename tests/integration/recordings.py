"""Recordings as columns, by the table of protocol/recording_format.h."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

_FORMAT = Path(__file__).resolve().parents[2] / "protocol" / "recording_format.h"
_CODES = {"std::uint8_t": "B", "std::uint16_t": "H", "std::uint32_t": "I", "std::uint64_t": "Q", "std::int64_t": "q"}
_CODES["double"] = "d"
NONE = 0xFFFFFFFF


class Recording:
    """A column is an attribute: a tuple of numbers."""

    def __init__(self, data: bytes) -> None:
        table = re.findall(r"COLUMN\((\w+), (\d+), ([\w:]+)\)", _FORMAT.read_text())
        columns = {int(number): (name, _CODES[kind]) for name, number, kind in table if number != "number"}
        magic, _, count, total = struct.unpack_from("<8sIIQ", data)
        assert magic == b"RIDGEREC"
        assert total == len(data)
        for i in range(count):
            number, _, elements, offset = struct.unpack_from("<IIQQ", data, 24 + 24 * i)
            name, code = columns.pop(number)
            setattr(self, name, struct.unpack_from(f"<{elements}{code}", data, offset))
        assert not columns, f"columns are missing: {columns}"

    def __getattr__(self, name: str) -> Any:  # for the type checker: columns are set above
        raise AttributeError(name)

    def string(self, number: int) -> str:
        begin = self.string_ends[number - 1] if number else 0
        return bytes(self.string_bytes[begin : self.string_ends[number]]).decode()

    def line(self, node: int) -> tuple[str, int]:
        """(file's name, line) of the innermost frame; ("", 0) of the empty stack."""
        if node == 0:
            return "", 0
        return Path(self.string(self.code_file[self.node_code[node]])).name, self.node_line[node]

    def op(self, op: int) -> str | None:
        return None if op == NONE else self.string(self.op_name[op])
