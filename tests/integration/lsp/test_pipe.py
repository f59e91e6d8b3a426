"""A Unix socket: whose it is, who may come in, and who listens."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import ridgeline

from .wire import Daemon, connected, serve_one, wait_for

Start = Callable[..., Daemon]


def listening(start: Start, path: Path) -> Daemon:
    daemon = start("--pipe", path)
    daemon.wait_for_words("listening at")
    return daemon


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_it_is_open_to_its_user_only(start: Start, tmp_path: Path):
    path = tmp_path / "made" / "socket"
    daemon = listening(start, path)
    assert (mode(path.parent), mode(path)) == (0o700, 0o600)
    with connected(path) as wire:
        wire.initialize()
        wire.end()
    assert daemon.process.poll() is None, "only the session has ended"
    assert daemon.stop() == 0
    assert list(path.parent.iterdir()) == []


def test_another_user_is_turned_away(start: Start):
    nobody = shutil.which("setpriv")
    if os.geteuid() != 0 or nobody is None:
        pytest.skip("needs root and setpriv to be another user")
    # The folder and the socket are opened to everybody, so that nothing but the check of the peer is left.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "socket"
        daemon = listening(start, path)
        Path(folder).chmod(0o755)
        path.chmod(0o666)
        script = (
            "import socket, sys\n"
            "with socket.socket(socket.AF_UNIX) as end:\n"
            "    end.connect(sys.argv[1])\n"
            "    print(end.recv(10))\n"
        )
        command = [nobody, "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", script, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd="/")
        if done.returncode != 0 and "Permission denied" in done.stderr:
            pytest.skip(f"another user cannot run Python here: {done.stderr.splitlines()[-1]}")
        assert done.stdout == "b''\n", done.stderr
        daemon.wait_for_words("of user 65534")


def test_a_second_daemon_is_refused(start: Start, tmp_path: Path):
    path = tmp_path / "socket"
    daemon = listening(start, path)
    done = ridgeline("serve", "--pipe", path, timeout=30)
    assert done.returncode == 3
    assert f"another ridgeline daemon (process {daemon.process.pid}) listens" in done.stderr
    with connected(path) as wire:
        wire.initialize()


def test_what_a_killed_daemon_left_is_replaced(start: Start, tmp_path: Path):
    path = tmp_path / "socket"
    first = listening(start, path)
    first.process.kill()
    first.process.wait()
    assert path.exists()
    listening(start, path)
    with connected(path) as wire:
        wire.initialize()
        wire.end()


def test_it_joins_a_client_that_listens(start: Start, tmp_path: Path):
    """As vscode-languageclient does: it listens, and starts the server with --pipe."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        daemon = start(f"--pipe={path}")
        serve_one(listener)
        assert daemon.wait() == 0, "it served only this client"
    assert path.exists(), "it is the client's to remove"


def test_a_place_that_others_can_change_is_refused(tmp_path: Path):
    tmp_path.chmod(0o777)
    done = ridgeline("serve", "--pipe", tmp_path / "socket", timeout=30)
    assert done.returncode == 3
    assert "others can replace" in done.stderr


def test_a_file_is_not_replaced(tmp_path: Path):
    (tmp_path / "file").write_text("precious")
    done = ridgeline("serve", "--pipe", tmp_path / "file", timeout=30)
    assert done.returncode == 3
    assert (tmp_path / "file").read_text() == "precious"


def test_a_session_ends_with_its_client_and_no_other_does(start: Start, tmp_path: Path):
    path = tmp_path / "socket"
    listening(start, path)
    with connected(path) as stays:
        stays.initialize()
        with connected(path) as leaves:
            leaves.initialize()
            parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
            with connected(path) as orphan:
                orphan.initialize(processId=parent.pid)
                parent.kill()
                parent.wait()
                assert orphan.receive() is None
        stays.end()


def test_a_hundred_sessions_at_once(start: Start, tmp_path: Path):
    path = tmp_path / "socket"
    daemon = listening(start, path)

    def one(number: int) -> None:
        with connected(path) as wire:
            wire.initialize()
            item = {"uri": f"file:///{number}.py", "languageId": "python", "version": 1, "text": "x"}
            wire.notify("textDocument/didOpen", {"textDocument": item})
            ready.append(number)
            wait_for(lambda: len(ready) == 100)  # nobody leaves before everybody is there
            wire.end()

    ready: list[int] = []
    with ThreadPoolExecutor(100) as pool:
        list(pool.map(one, range(100)))
    assert daemon.process.poll() is None
    open_files = Path(f"/proc/{daemon.process.pid}/fd")
    wait_for(lambda: len(list(open_files.iterdir())) < 20)


def test_it_ends_cleanly_with_sessions_in_it(start: Start, tmp_path: Path):
    path = tmp_path / "socket"
    daemon = listening(start, path)
    with connected(path) as wire:
        wire.initialize()
        daemon.process.terminate()
        assert wire.receive() is None
    assert daemon.wait() == 0
    assert not path.exists()
