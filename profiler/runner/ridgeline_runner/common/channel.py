"""Framed messages on a socket: the worker's end of the channel that protocol/worker_frame.h describes.

A frame is `R` `L`, the version, the kind (1: JSON, 2: bytes), the length as four little-endian bytes, and the payload.
"""

from __future__ import annotations

import json
import select
import socket
import struct
from os import getpid
from typing import Any

VERSION = 1
_HEADER = struct.Struct("<2sBBI")
_JSON, _BYTES = 1, 2
_MAX_MESSAGE = 16 << 20
_CHUNK = 1 << 20
# User code may replace what a module or a class holds.
_encode = json.JSONEncoder().encode
_decode = json.JSONDecoder().decode
_send_all = socket.socket.sendall
_select = select.select


class ChannelClosed(Exception):
    """The daemon is gone."""


class Channel:
    """One end of a socketpair, for the process that made the object. Not thread-safe."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._process = getpid()
        self._descriptors: list[int] = []
        self._owes_answer = False  # one that did not come in time, and may still come

    @property
    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: dict[str, Any]) -> None:
        self._send_frame(_JSON, _encode(message).encode())

    def send_bytes(self, payload: bytes) -> None:
        """Sends any number of bytes as frames of at most 1 MiB."""
        view = memoryview(payload)
        for start in range(0, len(view), _CHUNK):
            self._send_frame(_BYTES, view[start : start + _CHUNK])

    def receive(self) -> dict[str, Any]:
        """The next message; raises ChannelClosed at the end of the channel."""
        magic, version, kind, length = _HEADER.unpack(self._receive_exactly(_HEADER.size))
        if magic != b"RL" or version != VERSION or kind != _JSON or length > _MAX_MESSAGE:
            raise ChannelClosed(f"not a message of version {VERSION}")
        return _decode(self._receive_exactly(length).decode())

    def receive_if_any(self) -> dict[str, Any] | None:
        """The next message where one has come; does not wait for it."""
        try:
            readable, _, _ = _select([self._socket], [], [], 0)
        except (OSError, ValueError) as error:
            raise ChannelClosed(str(error)) from None
        return self.receive() if readable else None

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Sends a message and returns the answer; None when there is none in time, or none that can be read. Then
        nothing more is asked, as the answer may still come: every further call returns None at once."""
        if self._owes_answer:
            return None
        self.send(message)
        self._socket.settimeout(seconds)
        try:
            return self.receive()
        except (ChannelClosed, ValueError):
            self._owes_answer = True
            return None
        finally:
            self._socket.settimeout(None)

    def take_descriptors(self) -> list[int]:
        """File descriptors that came with the messages received so far; the caller owns them."""
        taken, self._descriptors = self._descriptors, []
        return taken

    def close(self) -> None:
        self._socket.close()

    def _send_frame(self, kind: int, payload: bytes | memoryview) -> None:
        if getpid() != self._process:
            raise ChannelClosed("this process is a copy that user code made of the one that the channel belongs to")
        try:
            _send_all(self._socket, _HEADER.pack(b"RL", VERSION, kind, len(payload)))
            _send_all(self._socket, payload)
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def _receive_exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._socket, count - len(parts), 8)
            except OSError as error:
                raise ChannelClosed(str(error)) from None
            self._descriptors.extend(descriptors)
            if not data:
                raise ChannelClosed("end of the channel")
            parts += data
        return bytes(parts)
