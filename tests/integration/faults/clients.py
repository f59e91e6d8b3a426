"""Clients that go, stall, or say what no client says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from conftest import BINARY
from lsp.test_framing import BROKEN
from lsp.wire import Wire, framed, wait_for

from .world import CODES, Fault, World, adds_to

FAULTS: list[Fault] = []
fault = adds_to(FAULTS)

GONE = "its session ends, and what it had asked for is cancelled"


def opened(number: int, text: str = "x = 1\n") -> dict[str, Any]:
    uri = f"file:///nowhere/{number}.py"
    return {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}


def at(uri: str, line: int, character: int) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def closes(wire: Wire) -> bool:
    """Whether the connection ends, whatever is said before."""
    while wire.receive() is not None:
        pass
    return True


@fault("client", "gone at any point of a session", GONE)
def gone(world: World, random: Random) -> None:
    entry = world.project()
    document = {"uri": entry.as_uri(), "languageId": "python", "version": 1, "text": entry.read_text()}
    with world.connect() as wire:
        steps = [
            lambda: wire.begin("initialize", {"processId": None, "rootUri": None, "capabilities": {}}),
            lambda: wire.notify("initialized", {}),
            lambda: wire.notify("textDocument/didOpen", {"textDocument": document}),
            lambda: wire.begin("textDocument/hover", at(entry.as_uri(), 3, 5)),
            lambda: wire.begin("textDocument/codeAction", {"textDocument": document, "range": {}, "context": {}}),
            lambda: wire.begin("shutdown"),
        ]
        for step in steps[: random.randint(0, len(steps))]:
            step()


@fault("client", "gone while its profile runs", GONE)
def gone_while_profiling(world: World, random: Random) -> None:
    entry = world.project()
    with world.connect() as wire:
        wire.initialize({"window": {"workDoneProgress": True}}, initializationOptions={"trust": "editor"})
        document = {"uri": entry.as_uri(), "languageId": "python", "version": 1, "text": entry.read_text()}
        wire.notify("textDocument/didOpen", {"textDocument": document})
        wire.begin("ridgeline/profile", {"textDocument": {"uri": entry.as_uri()}, "workDoneToken": 1})
        time.sleep(random.random() * 2)


@fault("client", "gone in the middle of a message", GONE)
def half_a_message(world: World, random: Random) -> None:
    message = framed({"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": at("file:///x.py", 1, 1)})
    with world.connect() as wire:
        if random.random() < 0.5:
            wire.initialize()
        wire.write(message[: random.randrange(1, len(message))])


@fault("client", "bytes that are not LSP, such as a browser's", "the connection is closed without an answer")
def no_lsp(world: World, random: Random) -> None:
    with world.connect() as wire:
        noise = b"\r\n" + random.randbytes(random.randint(10, 20_000)) + b"\r\n\r\n"
        wire.write(random.choice([*BROKEN.values(), noise]))
        assert wire.receive() is None


@fault("client", "messages with changed bytes", "an answer or a documented error; later messages work")
def damaged(world: World, random: Random) -> None:
    with world.connect() as wire:
        wire.initialize()
        for number in range(20):
            message = {"jsonrpc": "2.0", "id": f"n{number}", "method": "textDocument/hover"}
            body = bytearray(json.dumps(message | {"params": at("file:///x.py", 1, 1)}).encode())
            for _ in range(random.randint(1, 6)):
                body[random.randrange(len(body))] = random.randrange(256)
            wire.write(framed(bytes(body)))
        answer = wire.ask("ridgeline/status", {"textDocument": {"uri": "file:///x.py"}})
        assert "result" in answer or answer["error"]["code"] in CODES
        assert all(other["error"]["code"] in CODES for other in wire.others if "error" in other)


@fault("client", "deeply nested JSON", "-32700 or -32600; the session continues")
def deep(world: World, random: Random) -> None:
    depth = random.randint(1_000, 1_000_000)
    with world.connect() as wire:
        wire.initialize()
        wire.write(framed(random.choice([b"[" * depth, b"[" * depth + b"]" * depth, b'{"a":' * depth])))
        assert wire.answer(None)["error"]["code"] in (-32700, -32600)
        wire.end()


@fault("client", "a message of 64 MiB, and a larger one", "the first is answered; the second closes the connection")
def too_large(world: World, random: Random) -> None:
    with world.connect() as wire:
        wire.initialize()
        size = int((64 << 20) / 2 ** random.uniform(0, 6)) - 200
        message = {"jsonrpc": "2.0", "id": "large", "method": "none", "params": ["x" * size]}
        wire.write(framed(message))
        assert wire.answer("large")["error"]["code"] == -32601
        wire.write(b"Content-Length: %d\r\n\r\n" % ((64 << 20) + random.randint(1, 1 << 40)))
        assert closes(wire)


@fault("client", "sends requests and never reads", "the unread answers are bounded; its session ends")
def never_reads(world: World, random: Random) -> None:
    with world.connect() as wire:
        wire.initialize()
        os.set_blocking(wire.writer, False)
        question = framed({"jsonrpc": "2.0", "id": 1, "method": "none", "params": ["x" * random.randint(1, 10_000)]})
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            try:
                os.write(wire.writer, question)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                break


@fault("client", "up to a hundred at once", "each is served")
def many(world: World, random: Random) -> None:
    count = random.randint(20, 100)
    ready: list[int] = []

    def one(number: int) -> None:
        with world.connect() as wire:
            wire.initialize()
            wire.notify("textDocument/didOpen", opened(number))
            ready.append(number)
            wait_for(lambda: len(ready) == count)
            wire.end()

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))


@fault(
    "client",
    "thousands of documents",
    "all are kept, and released with the session; those beyond 2,048 have no figures, with a message",
)
def documents(world: World, random: Random) -> None:
    count = random.choice([3_000, 10_000])
    with world.connect() as wire:
        wire.initialize()
        for number in range(count):
            wire.notify("textDocument/didOpen", opened(number, "y = 2\n" * random.randint(0, 100)))
        assert wire.ask("textDocument/hover", at("file:///nowhere/7.py", 0, 0))["result"] is None
        logged = [each["params"]["message"] for each in wire.others if each.get("method") == "window/logMessage"]
        assert [text for text in logged if "2048 Python files are open" in text], "each keeps the tree of its text"
        if random.random() < 0.5:
            wire.end()


@fault("client", "messages in an invalid order", "-32002 or -32600; the session continues")
def wrong_order(world: World, random: Random) -> None:
    with world.connect() as wire:
        for method in random.sample(["shutdown", "textDocument/hover", "ridgeline/status", "none"], 3):
            assert wire.error_of(method, {}) == -32002
        wire.initialize()
        assert wire.error_of("initialize", {"processId": None, "rootUri": None, "capabilities": {}}) == -32600
        assert wire.ask("shutdown")["result"] is None
        assert wire.error_of("textDocument/hover", at("file:///x.py", 1, 1)) == -32600


@fault("client", "requests cancelled in any order", "each is answered once, with its result or -32800")
def cancels(world: World, random: Random) -> None:
    with world.connect() as wire:
        wire.initialize()
        uri = "file:///nowhere/1.py"
        wire.notify("textDocument/didOpen", opened(1))
        asked = []
        for _ in range(200):
            asked.append(wire.begin("textDocument/hover", at(uri, 0, 0)))
            if random.random() < 0.7:
                wire.notify("$/cancelRequest", {"id": random.choice([*asked, "none", -1])})
        answers = [wire.receive() for _ in asked]
        assert sorted(answer["id"] for answer in answers if answer) == asked
        assert all(answer["error"]["code"] == -32800 for answer in answers if answer and "error" in answer)
        wire.end()


@fault("client", "edits at positions that do not exist", "they are applied as the specification says, or refused")
def wild_edits(world: World, random: Random) -> None:
    huge = [0, 1, 3, 1_000, 2**31 - 1]
    with world.connect() as wire:
        wire.initialize()
        wire.notify("textDocument/didOpen", opened(1, "a = 'ä𝄞'\nb = 2\n"))
        for version in range(2, 60):
            begin, end = ({"line": random.choice(huge), "character": random.choice(huge)} for _ in range(2))
            change: dict[str, Any] = {
                "range": {"start": begin, "end": end},
                "text": random.choice(["", "é\n", "(\n" * 9]),
            }
            if random.random() < 0.1:
                change = {"text": "c = 3\n"}
            document = {"uri": "file:///nowhere/1.py", "version": random.choice([version, version - 2])}
            wire.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        assert "result" in wire.ask("textDocument/hover", at("file:///nowhere/1.py", 0, 0))


@fault("daemon", "stopped for a while, as when a laptop sleeps", "it continues")
def sleeps(world: World, random: Random) -> None:
    world.daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(random.random())
    world.daemon.process.send_signal(signal.SIGCONT)


@fault("daemon", "a second daemon on its socket", "the second one exits with code 3 and says why")
def second(world: World, random: Random) -> None:
    del random
    done = subprocess.run(
        [BINARY, "serve", "--pipe", world.socket], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3 and str(world.socket) in done.stderr, done.stderr
