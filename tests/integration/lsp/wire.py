"""A client of our own, for what a well-behaved library would never send: raw bytes, and messages in any order."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conftest import BINARY

from .conformance import Checker

PATIENCE = float(os.environ.get("RIDGELINE_PATIENCE", "60"))  # only a failing test ever waits this long


def framed(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message, ensure_ascii=False).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def wait_for(condition: Callable[[], Any]) -> Any:
    """What the condition gives once it gives something; fails the test when it never does."""
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)
    return result


class Wire:
    """One connection. What goes over it is judged when it is `checked`; a test that breaks rules says checked=False."""

    def __init__(self, reader: int, writer: int, *, checked: bool = True) -> None:
        self.reader, self.writer = reader, writer
        self.buffer = b""
        self.last_id = 0
        self.checker = Checker() if checked else None
        self.others: list[dict[str, Any]] = []  # what came while an answer was waited for

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.writer, data) :]

    def send(self, message: Any) -> None:
        if self.checker:
            self.checker.sent_by_client(message)
        self.write(framed(message))

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params}))

    def begin(self, method: str, params: Any = None) -> int:
        self.last_id += 1
        self.send(
            {"jsonrpc": "2.0", "id": self.last_id, "method": method} | ({} if params is None else {"params": params})
        )
        return self.last_id

    def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the connection, of which nothing may be left over."""
        while True:
            head, separator, rest = self.buffer.partition(b"\r\n\r\n")
            if separator:
                length = int(head.partition(b":")[2])
                if len(rest) >= length:
                    self.buffer = rest[length:]
                    message = json.loads(rest[:length])
                    if self.checker:
                        self.checker.sent_by_server(message)
                    return message
            if not (data := self.read_some()):
                assert self.buffer == b"", f"the connection ended inside of a message: {self.buffer[:80]!r}"
                return None
            self.buffer += data

    def read_some(self) -> bytes:
        ready, _, _ = select.select([self.reader], [], [], PATIENCE)
        assert ready, "nothing comes"
        try:
            return os.read(self.reader, 65536)
        except ConnectionResetError:
            return b""

    def answer(self, request_id: int | str | None) -> dict[str, Any]:
        """The answer to a request; what comes before it is put into `others`."""
        while (message := self.receive()) is not None:
            if "method" not in message and message.get("id") == request_id:
                return message
            self.others.append(message)
        raise AssertionError("the connection ended before the answer came")

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        return self.answer(self.begin(method, params))

    def error_of(self, method: str, params: Any = None) -> int:
        return self.ask(method, params)["error"]["code"]

    def initialize(self, capabilities: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        params = {"processId": None, "rootUri": None, "capabilities": capabilities or {}} | more
        result = self.ask("initialize", params)["result"]
        self.notify("initialized", {})
        return result

    def end(self) -> None:
        """As the specification says."""
        assert self.ask("shutdown")["result"] is None
        self.notify("exit")
        assert self.receive() is None

    def assert_conforms(self) -> None:
        if self.checker:
            assert self.checker.problems() == []


class Daemon:
    """`ridgeline serve`, or another command that speaks LSP, and what it wrote to standard error."""

    def __init__(
        self, *arguments: str | Path, log: Path, command: str = "serve", inside: Sequence[str] = (), **settings: Any
    ) -> None:
        self.log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [*inside, BINARY, command, *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                **settings,
            )
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def words(self) -> str:
        return self.log.read_text()

    def wait(self) -> int:
        return self.process.wait(PATIENCE)

    def wait_for_words(self, words: str) -> str:
        wait_for(lambda: words in self.words() or self.process.poll() is not None)
        assert words in self.words(), self.words()
        return self.words()

    def port(self) -> int:
        return int(self.wait_for_words("; the token is in").partition("127.0.0.1:")[2].partition(";")[0])

    def token(self) -> str:
        path = self.wait_for_words("; the token is in").partition("the token is in ")[2].splitlines()[0]
        return Path(path).read_text().strip()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        try:
            return self.wait()
        finally:
            self.process.kill()
            self.process.wait()
            self.stdout.close()


def serve_one(listener: socket.socket) -> None:
    """A whole session with the daemon that connects to a client which listens."""
    listener.settimeout(PATIENCE)
    end, _ = listener.accept()
    with end:
        wire = Wire(end.fileno(), end.fileno())
        wire.initialize()
        wire.end()
        wire.assert_conforms()


@contextlib.contextmanager
def connected(address: str | Path | int, *, checked: bool = True) -> Iterator[Wire]:
    """A connection to a Unix socket, or to a port."""
    family = socket.AF_INET if isinstance(address, int) else socket.AF_UNIX
    with socket.socket(family) as end:
        end.connect(("127.0.0.1", address) if isinstance(address, int) else str(address))
        wire = Wire(end.fileno(), end.fileno(), checked=checked)
        yield wire
        wire.assert_conforms()
