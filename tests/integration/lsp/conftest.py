"""What the tests of the protocol share: the daemon in all its transports, and the judge of what goes over them.

A test of a method takes `client`, a session over standard input and output that is initialized with the capabilities of
a test's `@pytest.mark.capabilities({...})`, else none. Whatever is said is checked against LSP and, once it exists,
against protocol/ridgeline.schema.json; a problem fails the test. A client library that starts the server itself is
given `recorded`: the command to start, and the same check when the test ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import BINARY

from .conformance import Checker
from .editor import Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import Daemon, Wire

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "capabilities(value): what the client of the test can do")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    """Starts daemons, which end with the test."""
    started: list[Daemon] = []

    def start_one(*arguments: str | Path, **settings: object) -> Daemon:
        started.append(Daemon(*arguments, log=tmp_path / f"daemon-{len(started)}.log", **settings))
        return started[-1]

    yield start_one
    for daemon in started:
        daemon.stop()


@pytest.fixture
def stdio(start: Callable[..., Daemon]) -> Callable[..., tuple[Daemon, Wire]]:
    """A daemon on standard input and output, to which nothing has been said."""

    def start_one(*arguments: str | Path, checked: bool = True, **settings: object) -> tuple[Daemon, Wire]:
        daemon = start("--stdio", *arguments, **settings)
        return daemon, Wire(daemon.stdout.fileno(), daemon.stdin.fileno(), checked=checked)

    return start_one


@pytest.fixture
def client(request: pytest.FixtureRequest, stdio: Callable[..., tuple[Daemon, Wire]]) -> Iterator[Wire]:
    daemon, wire = stdio()
    mark = request.node.get_closest_marker("capabilities")
    wire.initialize(mark.args[0] if mark else {})
    yield wire
    wire.end()
    assert daemon.wait() == 0
    wire.assert_conforms()
    assert wire.checker and wire.checker.unanswered() == []


@pytest.fixture
def editor(tmp_path: Path, stdio: Callable[..., tuple[Daemon, Wire]]) -> Iterator[Editor]:
    """An editor whose session is begun; ends it, and judges all that was said."""
    entry = copy_of_mlp(tmp_path)
    daemon, wire = stdio(env=cache(tmp_path))
    editor = Editor(wire, entry.parent, dict(SETTINGS))
    editor.begin()
    yield editor
    editor.ask("shutdown")
    wire.notify("exit")
    assert daemon.wait() == 0
    wire.assert_conforms()


@dataclass
class Recorded:
    command: list[str]
    log: Path

    def judge(self) -> Checker:
        """Checks everything said until now."""
        checker = Checker()
        for line in self.log.read_text().splitlines():
            entry = json.loads(line)
            (checker.sent_by_client if entry["from"] == "client" else checker.sent_by_server)(entry["message"])
        return checker


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    log = tmp_path / "recorded.jsonl"
    log.touch()
    session = Recorded([sys.executable, str(HERE / "recorder.py"), str(log), str(BINARY), "serve", "--stdio"], log)
    yield session
    assert session.judge().problems() == []
