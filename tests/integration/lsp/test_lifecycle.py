"""From `initialize` to `exit`, over standard input and output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import BINARY, ridgeline

from .wire import Daemon, Wire, framed, wait_for

Stdio = Callable[..., tuple[Daemon, Wire]]
NOT_INITIALIZED, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32002, -32600, -32601, -32602


def open_document(wire: Wire, text: str = "x", uri: str = "file:///a.py") -> None:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    wire.notify("textDocument/didOpen", {"textDocument": item})


def test_a_session_from_begin_to_end(client: Wire):
    open_document(client)
    client.notify("textDocument/didSave", {"textDocument": {"uri": "file:///a.py"}})
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///a.py"}})


def test_it_says_what_it_is(stdio: Stdio):
    daemon, wire = stdio()
    result = wire.initialize({"general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]}})
    version = ridgeline("--version").stdout.strip()
    assert result["serverInfo"] == {"name": "ridgeline", "version": version}
    assert result["capabilities"]["positionEncoding"] == "utf-8"
    assert result["capabilities"]["textDocumentSync"]["change"] == 2
    wire.end()
    assert daemon.wait() == 0
    wire.assert_conforms()


def test_nothing_goes_before_initialize(stdio: Stdio):
    daemon, wire = stdio()
    assert wire.error_of("shutdown") == NOT_INITIALIZED
    assert wire.error_of("no/such", {}) == NOT_INITIALIZED
    open_document(wire)
    wire.initialize()
    assert wire.others == [], "notifications are dropped"
    assert wire.error_of("initialize", {"processId": None, "rootUri": None, "capabilities": {}}) == INVALID_REQUEST
    wire.end()
    assert daemon.wait() == 0


def test_after_shutdown_there_is_only_exit(stdio: Stdio):
    daemon, wire = stdio()
    wire.initialize()
    assert wire.ask("shutdown")["result"] is None
    assert wire.error_of("shutdown") == INVALID_REQUEST
    open_document(wire)
    wire.notify("exit")
    assert wire.receive() is None
    assert daemon.wait() == 0
    wire.assert_conforms()


@pytest.mark.parametrize("initialized", [False, True])
def test_exit_without_shutdown(stdio: Stdio, initialized: bool):
    daemon, wire = stdio()
    if initialized:
        wire.initialize()
    wire.notify("exit")
    assert wire.receive() is None
    assert daemon.wait() == 1


@pytest.mark.parametrize(("shutdown", "code"), [(False, 1), (True, 0)])
def test_the_end_of_input_is_an_exit(stdio: Stdio, shutdown: bool, code: int):
    daemon, wire = stdio()
    wire.initialize()
    if shutdown:
        wire.ask("shutdown")
    daemon.stdin.close()
    assert daemon.wait() == code


def test_unknown_methods(stdio: Stdio):
    daemon, wire = stdio(checked=False)
    wire.initialize()
    assert wire.error_of("no/such", {}) == METHOD_NOT_FOUND
    assert wire.error_of("$/no/such", {}) == METHOD_NOT_FOUND
    wire.notify("no/such", {})
    wire.notify("$/no/such", [1])
    wire.notify("$/cancelRequest", {"id": 12345})
    wire.notify("$/cancelRequest", {})
    assert wire.error_of("initialize", []) == INVALID_REQUEST
    wire.end()
    assert daemon.wait() == 0


def test_bad_params(stdio: Stdio):
    _, wire = stdio(checked=False)
    assert wire.error_of("initialize") == INVALID_PARAMS
    assert wire.error_of("initialize", {"capabilities": 7, "processId": {}}) == INVALID_PARAMS
    wire.initialize()
    for params in ({}, {"textDocument": []}, {"textDocument": {"uri": 1}}):
        wire.notify("textDocument/didOpen", params)
        wire.notify("textDocument/didChange", params)
    wire.end()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"nonsense", -32700),
        (b"", -32700),
        (b"\xff\xfe", -32700),
        (b"[]", INVALID_REQUEST),
        (
            b'[{"jsonrpc":"2.0","id":1,"method":"shutdown"},{"jsonrpc":"2.0","id":2,"method":"shutdown"}]',
            INVALID_REQUEST,
        ),
        (b"7", INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b"[" * 100_000, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * 200 + b"]" * 200 + b"}", INVALID_REQUEST),
    ],
)
def test_what_is_no_message_is_answered_once(stdio: Stdio, body: bytes, code: int):
    _, wire = stdio(checked=False)
    wire.initialize()
    wire.write(framed(body))
    answer = wire.answer(None)
    assert answer["error"]["code"] == code
    assert wire.others == []
    wire.end()


def test_standard_output_carries_nothing_else(stdio: Stdio):
    daemon, wire = stdio(checked=False)
    wire.initialize()
    wire.write(framed(b"nonsense"))
    wire.end()
    assert daemon.wait() == 0
    assert wire.buffer == b""
    assert "malformed" in daemon.words()


def test_the_log_obeys_nobody(stdio: Stdio):
    daemon, wire = stdio(checked=False)
    wire.initialize(clientInfo={"name": "x\nridgeline: error: false", "version": "\x1b[31m"})
    item = {"uri": "file:///\x1b]0;title\x07.py\r\nridgeline: error: false", "languageId": "python", "version": 1}
    for _ in range(2):
        wire.notify("textDocument/didOpen", {"textDocument": item | {"text": ""}})
    wire.write(framed(b'{"jsonrpc": "2.0", "id": "\xfc", "method": 3}'))
    wire.end()
    assert daemon.wait() == 0
    assert "is opened twice" in daemon.words() and "malformed" in daemon.words()
    assert "\x1b" not in daemon.words() and "\nridgeline: error: false" not in daemon.words()


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_cleanly(stdio: Stdio, signal_number: int):
    daemon, wire = stdio()
    wire.initialize()
    daemon.process.send_signal(signal_number)
    assert wire.receive() is None
    assert daemon.wait() == 0


def test_input_may_be_a_file(tmp_path: Path):
    file = tmp_path / "input"
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    shutdown = {"jsonrpc": "2.0", "id": 2, "method": "shutdown"}
    file.write_bytes(framed(initialize) + framed(shutdown) + framed({"jsonrpc": "2.0", "method": "exit"}))
    with file.open("rb") as source, (tmp_path / "output").open("wb") as target:
        done = subprocess.run([BINARY, "serve"], stdin=source, stdout=target, stderr=subprocess.DEVNULL, timeout=30)
    assert done.returncode == 0
    assert (tmp_path / "output").read_bytes().endswith(b'{"id":2,"jsonrpc":"2.0","result":null}')


def test_input_may_be_nothing():
    done = subprocess.run([BINARY, "serve"], stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (1, b"")


def test_a_terminal_gets_its_mode_back(tmp_path: Path):
    """What is shared with the shell must block again when we are gone."""
    reader, writer = os.pipe()
    with subprocess.Popen(
        [BINARY, "serve"], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.DEVNULL
    ) as daemon:
        assert daemon.wait(30) == 1
    assert os.get_blocking(writer)
    os.close(reader)
    os.close(writer)


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])


@pytest.mark.parametrize("given", ["initialize", "option"])
def test_it_ends_with_its_parent(stdio: Stdio, given: str):
    parent = sleeper()
    daemon, wire = stdio(*(["--clientProcessId", str(parent.pid)] if given == "option" else []))
    wire.initialize(**({"processId": parent.pid} if given == "initialize" else {}))
    parent.kill()
    parent.wait()
    assert wire.receive() is None
    assert daemon.wait() == 1


def test_a_process_of_another_machine_is_not_watched(stdio: Stdio):
    gone = sleeper()
    gone.kill()
    gone.wait()
    daemon, wire = stdio()
    wire.initialize(processId=gone.pid)
    wire.end()
    assert daemon.wait() == 0
    assert "not watched" in daemon.words()


def test_a_client_process_that_is_gone_is_refused():
    gone = sleeper()
    gone.kill()
    gone.wait()
    done = ridgeline("serve", "--clientProcessId", str(gone.pid))
    assert done.returncode == 3
    assert "no process of yours" in done.stderr


def test_a_reader_who_does_not_read_is_left(stdio: Stdio):
    """Answers wait up to 64 MiB; then the connection ends, and with it the daemon, which had never waited itself."""
    daemon, wire = stdio(checked=False)
    wire.initialize()
    # An unknown method is answered with its name; a request is small, so ask often.
    many = framed({"jsonrpc": "2.0", "id": "x" * 60_000, "method": "no/such"}) * 20
    try:
        for _ in range(100):
            wire.write(many)
    except BrokenPipeError:
        pass
    assert daemon.wait() == 1
    wait_for(lambda: daemon.process.poll() is not None)


def test_a_large_message_is_taken(client: Wire):
    open_document(client, "x = 1\n" * 3_000_000)
    change: dict[str, Any] = {
        "range": {"start": {"line": 1_500_000, "character": 0}, "end": {"line": 1_500_000, "character": 1}},
        "text": "y",
    }
    client.notify(
        "textDocument/didChange", {"textDocument": {"uri": "file:///a.py", "version": 2}, "contentChanges": [change]}
    )


@pytest.mark.parametrize(
    "options",
    [["--pipe", "/tmp/x", "--stdio"], ["--socket", "70000"], ["--socket", "x"], ["--map", "nonsense"], ["--what"]],
)
def test_options_that_make_no_sense(options: list[str]):
    assert ridgeline("serve", *options, timeout=30).returncode == 2
