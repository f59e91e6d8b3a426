"""An editor here and the profiles on another machine: a real sshd, on a port of this one, or behind a network that is
slow, loses packets and is cut.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import network
import pytest
from conftest import BINARY
from sshd import Host, serving

from .editor import Editor
from .project import SETTINGS, agents, copy_of_mlp
from .wire import Daemon, Wire


@pytest.fixture
def host() -> Iterator[Host]:
    with serving(agents()) as host:
        yield host


Connect = Callable[..., tuple[Daemon, Editor]]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    started: list[Daemon] = []

    def begin(host: Host, folder: Path, *arguments: str, inside: Sequence[str] = ()) -> tuple[Daemon, Editor]:
        log = tmp_path / f"remote-{len(started)}.log"
        daemon = Daemon(host.name, *host.options, *arguments, log=log, command="remote", inside=inside)
        started.append(daemon)
        editor = Editor(Wire(daemon.stdout.fileno(), daemon.stdin.fileno()), folder, dict(SETTINGS))
        return daemon, editor

    yield begin
    for daemon in started:
        daemon.stop()


def end(daemon: Daemon, editor: Editor) -> None:
    editor.ask("shutdown")
    editor.wire.notify("exit")
    assert daemon.wait() == 0
    editor.wire.assert_conforms()


def test_profiles_are_made_there(host: Host, connect: Connect, tmp_path: Path) -> None:
    entry = copy_of_mlp(tmp_path)
    daemon, editor = connect(host, entry.parent)
    editor.begin(processId=os.getpid())  # which is no process of the host's concern
    document = editor.open(entry)
    summary = editor.ask("ridgeline/profile", document)
    assert summary["batchSize"] == 64
    assert "copying this program" in daemon.words()
    assert host.processes("serve --pipe")
    end(daemon, editor)
    # The daemon and the program are still there for the next editor, and so is the profile.
    again, second = connect(host, entry.parent)
    second.begin()
    second.open(entry)
    second.until(lambda: second.ask("ridgeline/summary", document) is not None)
    assert second.ask("ridgeline/summary", document)["profileId"] == summary["profileId"]
    assert "copying this program" not in again.words()
    assert len(host.processes("serve --pipe")) == 1
    end(again, second)


def test_a_profile_survives_the_connection(host: Host, connect: Connect, tmp_path: Path) -> None:
    entry = copy_of_mlp(tmp_path)
    daemon, editor = connect(host, entry.parent)
    editor.settings["timeBudget"] = 2
    editor.begin()
    document = editor.open(entry)
    number = editor.wire.begin("ridgeline/profile", document)
    editor.until(lambda: any(value.get("message", "").startswith("Timing") for value in editor.progress))
    host.drop_connections()
    editor.until(lambda: "window/showMessage" in editor.asked)
    assert editor.answer(number)["result"]["batchSize"] == 64
    assert "was lost" in daemon.words()
    assert "reconnected" in daemon.words()
    # Nothing was lost and nothing came twice: the text is the same on both sides.
    for _ in range(3):
        editor.type_over(entry.as_uri(), "batch_size: int = ", "batch_size: int = 1")
        host.drop_connections()
    assert editor.ask("workspace/executeCommand", set_to(entry, 32))["applied"] is True
    assert "batch_size: int = 32)" in editor.texts[entry.as_uri()]
    end(daemon, editor)


def test_the_program_of_another_platform_is_copied(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the host's `uname` says decides; where there is no such program, the way out is said."""
    (tmp_path / "bin").mkdir()
    uname = tmp_path / "bin" / "uname"
    uname.write_text('#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo aarch64\n')
    uname.chmod(0o755)
    entry = copy_of_mlp(tmp_path)
    with serving(agents(), variables={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}) as other:
        refused, _ = connect(other, entry.parent)
        assert refused.wait() == 3
        assert "it is Linux aarch64, this is Linux" in refused.words()
        assert "RIDGELINE_PROGRAMS" in refused.words()
        (tmp_path / "programs" / "aarch64").mkdir(parents=True)
        shutil.copy(BINARY, tmp_path / "programs" / "aarch64" / "ridgeline")
        monkeypatch.setenv("RIDGELINE_PROGRAMS", str(tmp_path / "programs"))
        daemon, editor = connect(other, entry.parent)
        editor.begin()
        assert other.processes("serve --pipe")
        end(daemon, editor)


def set_to(entry: Path, size: int) -> dict[str, Any]:
    return {"command": "ridgeline.setBatchSize", "arguments": [entry.as_uri(), size]}


@pytest.mark.long
def test_folders_may_have_other_names_there(host: Host, connect: Connect, tmp_path: Path) -> None:
    """The host has the project at one place, the editor at another; an unsaved text is what runs."""
    entry = copy_of_mlp(tmp_path / "there")
    here = Path("/home/nobody/here/mlp")
    daemon, editor = connect(host, here, f"--map={here}={entry.parent}")
    editor.begin()
    uri = (here / "entry.py").as_uri()
    text = entry.read_text().replace("batch_size: int = 64", "batch_size: int = 48")
    document = editor.open(here / "entry.py", text)
    summary = editor.ask("ridgeline/profile", document)
    assert summary["batchSize"] == 48
    assert {change["uri"] for change in editor.changes} == {uri}
    root = editor.ask("ridgeline/breakdown", {"profileId": summary["profileId"]})
    assert [node["definition"]["uri"] for node in root["children"] if node["type"] == "MLP"] == [uri]
    assert editor.ask("workspace/executeCommand", set_to(here / "entry.py", 32))["applied"] is True
    assert "batch_size: int = 32)" in editor.texts[uri]
    editor.type_over(uri, "def forward(self, ", "def forward(self, nothing, ")
    failed = editor.call("ridgeline/profile", document)["error"]["data"]
    assert failed["kind"] == "exception"
    editor.until(lambda: any(d["severity"] == 1 for d in editor.diagnostics.get(uri, [])))
    end(daemon, editor)


def test_two_editors_share_the_daemon(host: Host, connect: Connect, tmp_path: Path) -> None:
    entry = copy_of_mlp(tmp_path)
    one, first = connect(host, entry.parent)
    first.begin()
    two, second = connect(host, entry.parent)
    second.begin()
    document = first.open(entry)
    second.open(entry)
    summary = first.ask("ridgeline/profile", document)
    second.until(lambda: second.changes and second.changes[-1]["state"] == "ready")
    assert second.ask("ridgeline/summary", document)["profileId"] == summary["profileId"]
    assert len(host.processes("serve --pipe")) == 1
    end(one, first)
    end(two, second)


def test_a_daemon_that_is_gone_is_said(host: Host, connect: Connect, tmp_path: Path) -> None:
    entry = copy_of_mlp(tmp_path)
    daemon, editor = connect(host, entry.parent)
    editor.begin()
    for number in host.processes("serve --pipe"):
        os.kill(number, signal.SIGKILL)
    assert daemon.wait() == 3
    assert "the session with it is lost" in daemon.words()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody@127.0.0.1"], "Permission denied"),
        (["no-such-host.invalid"], "no-such-host.invalid"),
        (["127.0.0.1", "--program=/nowhere/ridgeline"], "/nowhere/ridgeline is not there"),
    ],
)
def test_what_is_wrong_is_said(host: Host, tmp_path: Path, arguments: list[str], words: str) -> None:
    name, *more = arguments
    log = tmp_path / "remote.log"
    daemon = Daemon(name, *host.options, *more, log=log, command="remote")
    assert daemon.wait() == 3
    assert words in daemon.words()
    daemon.stop()


def test_a_host_is_no_option(tmp_path: Path) -> None:
    daemon = Daemon("-oProxyCommand=touch /tmp/x", log=tmp_path / "log", command="remote")
    assert daemon.wait() == 2
    daemon.stop()


# ---- two hosts with a network between them

DELAY = 0.03  # seconds, there and back
LOSS = 0.03  # of the packets, each way


needs_network = pytest.mark.skipif(bool(network.why_not()), reason=network.why_not())


@pytest.fixture
def between() -> Iterator[network.Network]:
    with network.network(DELAY, LOSS) as between:
        yield between


@pytest.fixture
def far_host(between: network.Network) -> Iterator[Host]:
    with serving(agents(), between.there.address, between.there.inside) as host:
        yield host


@needs_network
@pytest.mark.long
def test_a_session_over_a_network_that_loses_packets(
    between: network.Network, far_host: Host, connect: Connect, tmp_path: Path
) -> None:
    entry = copy_of_mlp(tmp_path)
    daemon, editor = connect(far_host, entry.parent, inside=between.here.inside)
    editor.begin()
    document = editor.open(entry)
    summary = editor.ask("ridgeline/profile", document)
    assert summary["batchSize"] == 64
    for size in (32, 128, 48):
        assert editor.ask("workspace/executeCommand", set_to(entry, size))["applied"] is True
        assert editor.ask("ridgeline/summary", document)["batchSizeInCode"] == size
    assert "was lost" not in daemon.words(), "ssh bears lost packets"
    assert between.lost > 10
    end(daemon, editor)


@needs_network
@pytest.mark.long
def test_a_profile_survives_a_network_that_is_cut(
    between: network.Network, far_host: Host, connect: Connect, tmp_path: Path
) -> None:
    """Nobody says goodbye: it is the silence that tells."""
    entry = copy_of_mlp(tmp_path)
    daemon, editor = connect(far_host, entry.parent, inside=between.here.inside)
    editor.settings["timeBudget"] = 2
    editor.begin()
    document = editor.open(entry)
    number = editor.wire.begin("ridgeline/profile", document)
    editor.until(lambda: any(value.get("message", "").startswith("Timing") for value in editor.progress))
    between.cut = True
    editor.until(lambda: "window/showMessage" in editor.asked)
    assert "was lost" in daemon.words()
    between.cut = False
    assert editor.answer(number)["result"]["batchSize"] == 64
    assert "reconnected" in daemon.words()
    assert editor.ask("ridgeline/summary", document)["batchSize"] == 64
    end(daemon, editor)
