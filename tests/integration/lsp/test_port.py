"""A port of this machine, where anybody can knock: the token."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bad_entries import entry as entry_point
from bad_entries import project
from conftest import ridgeline

from .editor import Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import PATIENCE, Daemon, connected, framed, serve_one

Start = Callable[..., Daemon]
LIMITS = """\
import pathlib, resource
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
pathlib.Path(__file__).with_suffix(".limits").write_text(str(limits))"""


@pytest.fixture
def daemon(start: Start, tmp_path: Path) -> Daemon:
    return start("--socket=0", "--token-file", tmp_path / "token")


def test_it_opens_to_the_token(daemon: Daemon):
    for as_request in (True, False):
        with connected(daemon.port()) as wire:
            if as_request:
                assert wire.ask("ridgeline/authenticate", {"token": daemon.token()})["result"] is None
            else:
                wire.notify("ridgeline/authenticate", {"token": daemon.token()})
            wire.initialize()
            wire.end()
    assert daemon.process.poll() is None


def test_messages_may_follow_the_token_at_once(daemon: Daemon):
    with connected(daemon.port(), checked=False) as wire:
        token = {"jsonrpc": "2.0", "method": "ridgeline/authenticate", "params": {"token": daemon.token()}}
        initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
        wire.write(framed(token) + framed(initialize))
        assert "capabilities" in wire.answer(1)["result"]


@pytest.mark.parametrize(
    "message",
    [
        {"method": "initialize", "id": 1, "params": {"capabilities": {}}},
        {"method": "ridgeline/authenticate", "id": 1, "params": {"token": "0" * 64}},
        {"method": "ridgeline/authenticate", "id": 1, "params": {"token": ""}},
        {"method": "ridgeline/authenticate", "id": 1, "params": {"token": ["x"]}},
        {"method": "ridgeline/authenticate", "id": 1},
    ],
)
def test_it_stays_closed_to_everything_else(daemon: Daemon, message: dict[str, object]):
    with connected(daemon.port(), checked=False) as wire:
        wire.write(framed({"jsonrpc": "2.0"} | message))
        assert wire.answer(1)["error"]["code"] == -32803
        assert wire.receive() is None


def test_the_first_message_is_small(daemon: Daemon):
    with connected(daemon.port(), checked=False) as wire:
        wire.write(b"Content-Length: 65537\r\n\r\n")
        assert wire.receive() is None


def test_the_token_must_come_soon(daemon: Daemon):
    with connected(daemon.port(), checked=False) as wire:
        start = time.monotonic()
        assert wire.receive() is None
        assert time.monotonic() - start > 4
    daemon.wait_for_words("no token was sent in time")


def test_those_without_a_token_do_not_take_all_descriptors(start: Start, tmp_path: Path) -> None:
    """More than a process may have files, and all of them stay: others are served, and a profile is made."""
    entry = copy_of_mlp(tmp_path)
    limited = ["prlimit", "--nofile=256:256"]
    daemon = start("--socket=0", "--token-file", tmp_path / "token", inside=limited, env=cache(tmp_path))
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", daemon.port()))) for _ in range(400)]
        wire = stack.enter_context(connected(daemon.port()))
        wire.notify("ridgeline/authenticate", {"token": daemon.token()})
        editor = Editor(wire, entry.parent, dict(SETTINGS))
        editor.begin()
        assert editor.ask("ridgeline/profile", editor.open(entry))["batchSize"] == 64
        wire.end()
        for one in silent:
            one.settimeout(PATIENCE)
            assert one.recv(1) == b"", "closed when its time was over, if not before"


def test_the_last_descriptors_are_for_profiles(start: Start, tmp_path: Path) -> None:
    """However many have the token: who is one too many is turned away, and does not wait for ever."""
    daemon = start("--pipe", tmp_path / "pipe", inside=["prlimit", "--nofile=128:128"])
    daemon.wait_for_words("listening")
    with contextlib.ExitStack() as stack:
        initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
        served = []
        for _ in range(100):
            wire = stack.enter_context(connected(tmp_path / "pipe", checked=False))
            with contextlib.suppress(BrokenPipeError):
                wire.write(framed(initialize))
            if wire.receive() is not None:
                served.append(wire)
        assert 64 <= len(served) < 100
        daemon.wait_for_words("reserved for profiles")
        served[0].write(framed({"jsonrpc": "2.0", "id": 2, "method": "ridgeline/status"}))
        assert "result" in served[0].answer(2)


def test_user_code_has_the_limit_of_descriptors_that_the_daemon_was_started_with(start: Start, tmp_path: Path) -> None:
    entry = project(tmp_path / "project", entry_point(top=LIMITS))
    daemon = start("--pipe", tmp_path / "pipe", inside=["prlimit", "--nofile=300:400"], env=cache(tmp_path))
    daemon.wait_for_words("listening")
    with connected(tmp_path / "pipe") as wire:
        editor = Editor(wire, entry.parent, dict(SETTINGS))
        editor.begin()
        editor.ask("ridgeline/profile", editor.open(entry))
        limits = Path(f"/proc/{daemon.process.pid}/limits").read_text()
        wire.end()
    assert re.search(r"Max open files +400 +400 ", limits)
    assert entry.with_suffix(".limits").read_text() == "(300, 400)"


def test_it_ends_at_once_with_somebody_at_the_door(daemon: Daemon):
    with connected(daemon.port(), checked=False) as wire:
        wire.write(b"Content-Length: 10\r\n\r\n")
        start = time.monotonic()
        daemon.process.terminate()
        assert wire.receive() is None
        assert daemon.wait() == 0
        assert time.monotonic() - start < 4  # it does not wait for the token


def test_the_file_is_this_users_only(start: Start, tmp_path: Path):
    daemon = start("--socket=0", "--token-file", tmp_path / "token")
    daemon.port()
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert len(daemon.token()) >= 32
    assert daemon.stop() == 0
    assert not (tmp_path / "token").exists()


def test_every_daemon_has_a_token_of_its_own(start: Start, tmp_path: Path):
    tmp_path.chmod(0o700)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    daemons = [start("--socket=0", env=environment) for _ in range(2)]
    assert daemons[0].token() != daemons[1].token()
    assert (tmp_path / "ridgeline" / f"socket-{daemons[0].port()}.token").exists()
    for daemon in daemons:
        assert daemon.stop() == 0
    assert list((tmp_path / "ridgeline").iterdir()) == []


def test_a_token_can_be_given(start: Start, tmp_path: Path):
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text("t" * 40 + "\n")
    daemon = start("--socket=0", "--token-file", file)
    with connected(daemon.port()) as wire:
        wire.notify("ridgeline/authenticate", {"token": "t" * 40})
        wire.initialize()
    daemon.stop()
    assert file.exists(), "it is the user's"


@pytest.mark.parametrize(
    ("content", "mode", "words"), [("t" * 40, 0o644, "chmod 600"), ("short", 0o600, "at least 32")]
)
def test_a_bad_token_file_is_refused(tmp_path: Path, content: str, mode: int, words: str):
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(mode)
    done = ridgeline("serve", "--socket=0", "--token-file", file, timeout=30)
    assert done.returncode == 3
    assert words in done.stderr


def test_it_joins_a_client_that_listens(start: Start):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        daemon = start(f"--socket={listener.getsockname()[1]}")
        serve_one(listener)
        assert daemon.wait() == 0


def test_a_second_daemon_is_told_what_is_wrong(start: Start, daemon: Daemon):
    """It takes the first for a client that listens; the first waits for a token, and gives up."""
    second = start(f"--socket={daemon.port()}")
    assert second.wait() == 1
    assert "If it is another ridgeline, connect the editor to that one" in second.words()


def test_only_loopback_is_listened_on(daemon: Daemon):
    port = f"{daemon.port():04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listeners = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port}")]
    assert listeners == [f"0100007F:{port}"]
