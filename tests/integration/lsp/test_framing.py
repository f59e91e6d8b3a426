"""What is no LSP is closed at once, on every transport."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from .wire import Daemon, Wire, connected, framed

SHUTDOWN = framed({"jsonrpc": "2.0", "id": 1, "method": "shutdown"})

BROKEN = {
    "http": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
    "http-get": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "http-odd-method": b"Content-Length / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": bytes.fromhex("16030100c8010000c40303"),
    "bare-json": b'{"jsonrpc":"2.0","id":1,"method":"initialize"}',
    "no-length": b"Content-Type: application/vscode-jsonrpc\r\n\r\n{}",
    "negative": b"Content-Length: -5\r\n\r\n",
    "too-long": b"Content-Length: 67108865\r\n\r\n",
    "huge": b"Content-Length: 99999999999999999999999\r\n\r\n",
    "two-lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "header-too-long": b"Content-Length: 2\r\nX: " + b"x" * 9000,
    "no-colon": b"Content-Length 2\r\n\r\n{}",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_over_standard_input(stdio: Callable[..., tuple[Daemon, Wire]], data: bytes):
    daemon, wire = stdio(checked=False)
    wire.write(data)
    assert wire.receive() is None, "nothing is answered"
    assert daemon.wait() == 1


@pytest.fixture
def on_port(start: Callable[..., Daemon], tmp_path: Path) -> Daemon:
    return start("--socket", "0", "--token-file", tmp_path / "token")


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_over_a_port(on_port: Daemon, data: bytes):
    with connected(on_port.port(), checked=False) as wire:
        wire.write(data)
        assert wire.receive() is None


def test_a_browser_gets_nothing(on_port: Daemon):
    with socket.create_connection(("127.0.0.1", on_port.port())) as browser:
        browser.sendall(BROKEN["http"])
        assert browser.recv(1000) == b""


def test_over_a_pipe_only_that_session_ends(start: Callable[..., Daemon], tmp_path: Path):
    path = tmp_path / "socket"
    daemon = start("--pipe", path)
    daemon.wait_for_words("listening")
    with connected(path) as good:
        good.initialize()
        for data in BROKEN.values():
            with connected(path, checked=False) as bad:
                bad.write(data)
                assert bad.receive() is None
        good.end()


def test_case_and_other_headers_do_not_matter(stdio: Callable[..., tuple[Daemon, Wire]]):
    _, wire = stdio(checked=False)
    body = b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}'
    wire.write(b"content-length:%d\r\nX-Other: y\r\n\r\n%b" % (len(body), body))
    assert wire.answer(1)["error"]["code"] == -32002
    wire.write(b"X-First: y\r\nContent-LENGTH:   %d\r\nContent-Type: x\r\n\r\n%b" % (len(body), body))
    assert wire.answer(1)["error"]["code"] == -32002


def test_bytes_may_come_one_by_one(stdio: Callable[..., tuple[Daemon, Wire]]):
    _, wire = stdio(checked=False)
    for byte in SHUTDOWN:
        wire.write(bytes([byte]))
    assert wire.answer(1)["error"]["code"] == -32002
