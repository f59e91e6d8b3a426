"""An editor here and the profiles on another machine: a real sshd, on a port of this one."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import processes_with

from .editor import Editor
from .test_methods import SETTINGS, agents, copy_of_mlp
from .wire import Daemon, Wire, wait_for

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")

CONFIG = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv RIDGELINE_CACHE={folder}/cache XDG_CACHE_HOME={folder}/home XDG_RUNTIME_DIR={folder}/run
"""


@dataclass
class Host:
    folder: Path
    port: int

    @property
    def options(self) -> list[str]:
        options = [
            f"-p{self.port}",
            f"-i{self.folder}/user_key",
            "-oIdentitiesOnly=yes",
            "-oStrictHostKeyChecking=no",
            f"-oUserKnownHostsFile={self.folder}/known_hosts",
            "-oLogLevel=ERROR",
            "-Fnone",
        ]
        return [f"--ssh-option={option}" for option in options]

    @property
    def name(self) -> str:
        return f"{getpass.getuser()}@127.0.0.1"

    def processes(self, words: str) -> list[int]:
        """What runs there and has the words in its command line."""
        found = []
        for number in processes_with(f"RIDGELINE_CACHE={self.folder}/cache"):
            command = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            if words in command:
                found.append(number)
        return found

    def drop_connections(self) -> None:
        """As a network that is gone: nobody says goodbye."""
        for number in self.processes(" relay"):
            os.kill(number, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def host() -> Iterator[Host]:
    assert SSHD, "openssh-server is not installed"
    folder = Path(tempfile.mkdtemp(prefix="host"))  # the path of a socket has to be short
    for name in ("cache", "run"):
        (folder / name).mkdir(parents=True, mode=0o700)
    shutil.copytree(agents(), folder / "cache" / "agents")
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    port = free_port()
    (folder / "sshd_config").write_text(CONFIG.format(port=port, folder=folder))
    with (folder / "sshd.log").open("wb") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=log)
    host = Host(folder, port)
    wait_for(lambda: "listening" in (folder / "sshd.log").read_text())
    yield host
    server.terminate()
    server.wait()
    for number in host.processes(""):
        os.kill(number, signal.SIGKILL)
    shutil.rmtree(folder)


Connect = Callable[..., tuple[Daemon, Editor]]


@pytest.fixture
def connect(host: Host, tmp_path: Path) -> Iterator[Connect]:
    started: list[Daemon] = []

    def begin(folder: Path, *arguments: str) -> tuple[Daemon, Editor]:
        log = tmp_path / f"remote-{len(started)}.log"
        daemon = Daemon(host.name, *host.options, *arguments, log=log, command="remote")
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
    daemon, editor = connect(entry.parent)
    editor.begin(processId=os.getpid())  # which is no process of the host's concern
    document = editor.open(entry)
    summary = editor.ask("ridgeline/profile", document)
    assert summary["batchSize"] == 64
    assert "copying this program" in daemon.words()
    assert host.processes("serve --pipe")
    end(daemon, editor)
    # The daemon and the program are still there for the next editor, and so is the profile.
    again, second = connect(entry.parent)
    second.begin()
    second.open(entry)
    second.until(lambda: second.ask("ridgeline/summary", document) is not None)
    assert second.ask("ridgeline/summary", document)["profileId"] == summary["profileId"]
    assert "copying this program" not in again.words()
    assert len(host.processes("serve --pipe")) == 1
    end(again, second)


def test_a_profile_survives_the_connection(host: Host, connect: Connect, tmp_path: Path) -> None:
    entry = copy_of_mlp(tmp_path)
    daemon, editor = connect(entry.parent)
    editor.settings["timeBudget"] = 2
    editor.begin()
    document = editor.open(entry)
    number = editor.wire.begin("ridgeline/profile", document)
    editor.until(lambda: any(value.get("message", "").startswith("Timing") for value in editor.progress))
    host.drop_connections()
    editor.until(lambda: "window/showMessage" in editor.asked)
    answers: list[dict[str, Any]] = []

    def answered() -> bool:
        message = editor.wire.receive()
        assert message is not None, daemon.words()
        if message.get("id") == number and "method" not in message:
            answers.append(message)
        else:
            editor.handle(message)
        return bool(answers)

    wait_for(answered)
    assert answers[0]["result"]["batchSize"] == 64
    assert "broke" in daemon.words()
    assert "again" in daemon.words()
    # Nothing was lost and nothing came twice: the text is the same on both sides.
    for _ in range(3):
        editor.type_over(entry.as_uri(), "batch_size: int = ", "batch_size: int = 1")
        host.drop_connections()
    assert editor.ask("workspace/executeCommand", set_to(entry, 32))["applied"] is True
    assert "batch_size: int = 32)" in editor.texts[entry.as_uri()]
    end(daemon, editor)


def set_to(entry: Path, size: int) -> dict[str, Any]:
    return {"command": "ridgeline.setBatchSize", "arguments": [entry.as_uri(), size]}


def test_folders_may_have_other_names_there(connect: Connect, tmp_path: Path) -> None:
    """The host has the project at one place, the editor at another; an unsaved text is what runs."""
    entry = copy_of_mlp(tmp_path / "there")
    here = Path("/home/nobody/here/mlp")
    daemon, editor = connect(here, f"--map={here}={entry.parent}")
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
    one, first = connect(entry.parent)
    first.begin()
    two, second = connect(entry.parent)
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
    daemon, editor = connect(entry.parent)
    editor.begin()
    for number in host.processes("serve --pipe"):
        os.kill(number, signal.SIGKILL)
    assert daemon.wait() == 3
    assert "the session with it is gone" in daemon.words()


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
