"""A recorded run in another folder: the same messages and recordings (protocol/recording_format.h), other paths."""

from __future__ import annotations

import json
import struct

HEADER = struct.Struct("<8sIIQ")
ENTRY = struct.Struct("<IIQQ")
STRING_BYTES, STRING_ENDS = 1, 2
CHUNK = 1 << 20
MESSAGE, BYTES = 1, 2

Event = tuple[str, int, bytes]
Places = dict[str, str]  # folders of a recorded run, and the ones in their place


def moved(events: list[Event], places: Places) -> list[Event]:
    """The events of a run as of one in other folders."""
    if all(before == after for before, after in places.items()):
        return events
    result: list[Event] = []
    waiting: tuple[dict, bytearray] | None = None  # a recording that was announced, and what has come of it
    for what, kind, payload in events:
        if kind == BYTES and waiting is not None:
            message, content = waiting
            content += payload
            if len(content) == message["bytes"]:
                whole = with_paths(bytes(content), places)
                announced = json.dumps({**message, "bytes": len(whole)}).encode()
                result.append((what, MESSAGE, replaced(announced, places)))
                result += [(what, BYTES, whole[at : at + CHUNK]) for at in range(0, len(whole), CHUNK)]
                waiting = None
        elif what == "said" and kind == MESSAGE and (message := json.loads(payload))["type"] == "recording":
            waiting = (message, bytearray())
        elif what == "ended":
            result.append((what, kind, payload))
        else:
            result.append((what, kind, replaced(payload, places)))
    return result


def replaced(text: bytes, places: Places) -> bytes:
    for before, after in places.items():
        text = text.replace(before.encode(), after.encode())
    return text


def with_paths(recording: bytes, places: Places) -> bytes:
    """A recording whose strings name other folders."""
    magic, version, count, _ = HEADER.unpack_from(recording)
    columns = []
    for i in range(count):
        column, element, length, offset = ENTRY.unpack_from(recording, HEADER.size + i * ENTRY.size)
        columns.append((column, element, recording[offset : offset + element * length]))
    content = {column: data for column, _, data in columns}
    ends = struct.unpack(f"<{len(content[STRING_ENDS]) // 4}I", content[STRING_ENDS])
    texts = [content[STRING_BYTES][start:end] for start, end in zip((0, *ends), ends, strict=False)]
    texts = [replaced(text, places) for text in texts]
    total, new_ends = 0, []
    for text in texts:
        total += len(text)
        new_ends.append(total)
    changed = {STRING_BYTES: b"".join(texts), STRING_ENDS: struct.pack(f"<{len(new_ends)}I", *new_ends)}
    offset = HEADER.size + count * ENTRY.size
    directory, body = b"", b""
    for column, element, data in columns:
        data = changed.get(column, data)
        body += b"\0" * (-(offset + len(body)) % 8)
        directory += ENTRY.pack(column, element, len(data) // element, offset + len(body))
        body += data
    return HEADER.pack(magic, version, count, offset + len(body)) + directory + body
