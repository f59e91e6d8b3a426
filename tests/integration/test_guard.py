"""What `ridgeline profile` runs a command again with: nothing changes files, and what needs none runs as always."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BINARY, ROOT


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of the user's with a checkpoint."""
    folder = ROOT / "build" / f"guarded-{uuid.uuid4().hex[:8]}"
    folder.mkdir(parents=True)
    (folder / "old.pt").write_text("old")
    yield folder
    shutil.rmtree(folder)


def guarded(place: Path, folder: Path, *command: object) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    done = subprocess.run(
        [BINARY, "guard", "--folder", folder, "--", *map(str, command)],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, json.loads((folder / "guard.json").read_text())


SPAWNED = """
import multiprocessing

def save():
    open("new.pt", "w").close()

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    process = multiprocessing.Process(target=save)
    process.start()
    process.join()
"""
FORKED = """
import os, time
if os.fork() == 0:
    os.setsid()
    open("new.pt", "w").close()
time.sleep(60)
"""
LINKED = "import os, tempfile; os.symlink(os.path.abspath('old.pt'), tempfile.gettempdir() + '/a'); "

CHANGES = {
    "overwrite": "open('old.pt', 'w')",
    "append": "open('old.pt', 'a')",
    "native": "import ctypes; ctypes.CDLL(None).creat(b'new.pt', 0o644)",
    "rename to": "import os, tempfile; f = tempfile.mkstemp()[1]; os.replace(f, 'old.pt')",
    "rename": "import os; os.rename('old.pt', 'new.pt')",
    "remove": "import os; os.remove('old.pt')",
    "truncate": "import os; os.truncate('old.pt', 0)",
    "mode": "import os; os.fchmod(os.open('old.pt', os.O_RDONLY), 0o600)",
    "by a link": LINKED + "open(tempfile.gettempdir() + '/a', 'w')",
    "by a descriptor": "import os; os.open('new.pt', os.O_CREAT | os.O_RDWR, dir_fd=os.open('.', os.O_RDONLY))",
    "folder": "import os; os.makedirs('new/er', exist_ok=True)",
    "in /tmp": "open('/tmp/ridgeline-new.pt', 'w')",
    "subprocess": "import subprocess; subprocess.run(['cp', '/etc/hostname', 'old.pt'])",
    "forked": FORKED,
    "spawned": SPAWNED,
    "socket": "import socket; socket.socket(socket.AF_UNIX).bind('new')",
}


def check_that_it_ends_before(change: str, place: Path, folder: Path) -> None:
    """The command, with the change of the table: `place` is the user's, `folder` gets the script and guard.json."""
    script = folder / "script.py"
    script.write_text(CHANGES[change] + "\nif __name__ == '__main__':\n    print('went on')\n")
    (place / "old.pt").write_text("old")
    done, report = guarded(place, folder, sys.executable, script)
    assert done.returncode == 128 + 9, done.stderr
    assert "went on" not in done.stdout
    name = "ridgeline-new.pt" if change == "in /tmp" else "old.pt" if "old.pt" in CHANGES[change] else "new"
    assert name in report["endedAt"], report
    assert [path.name for path in place.iterdir()] == ["old.pt"]
    assert (place / "old.pt").read_text() == "old"


@pytest.mark.parametrize("change", CHANGES)
def test_a_command_ends_before_its_first_change(place: Path, tmp_path: Path, change: str) -> None:
    check_that_it_ends_before(change, place, tmp_path)


@pytest.mark.skipif(not os.access("/run", os.W_OK), reason="this user may not write to /run")
def test_folders_below_run_are_the_users(place: Path, tmp_path: Path) -> None:
    folder = Path("/run") / f"ridgeline-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    try:
        _, report = guarded(place, tmp_path, "sh", "-c", f"echo new > {folder}/a.pt")
        assert report["endedAt"] == f"{folder}/a.pt"
        assert list(folder.iterdir()) == []
    finally:
        shutil.rmtree(folder)


HARMLESS = """
import multiprocessing, os, shutil, socket, subprocess, tempfile
from multiprocessing import shared_memory

os.makedirs(tempfile.gettempdir(), exist_ok=True)
os.makedirs(os.getcwd(), exist_ok=True)
for path in ("/dev/null", "/dev/stdout", "/proc/self/comm"):
    open(path, "w").write("x")
tempfile.TemporaryFile().write(b"x")
shutil.rmtree(tempfile.mkdtemp())
moved = "echo a > $TMPDIR/a && mv $TMPDIR/a $TMPDIR/b && chmod 600 $TMPDIR/b && rm $TMPDIR/b"
subprocess.run(moved, shell=True, check=True)
memory = shared_memory.SharedMemory(create=True, size=16)
memory.close()
memory.unlink()
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname())
for change in (lambda: os.remove("none"), lambda: os.mkdir("none/a"), lambda: open("old.pt", "r+")):
    try:
        change()
    except OSError:
        continue
    raise AssertionError
try:
    socket.create_connection(("192.0.2.1", 443), timeout=5)
except OSError as error:
    print(error)
"""


def test_what_changes_no_file_goes_on(place: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(HARMLESS)
    done, report = guarded(place, tmp_path, sys.executable, script)
    assert done.returncode == 0, done.stderr + str(report)
    assert "unreachable" in done.stdout
    assert report["endedAt"] == ""
    assert report["refused"] == str(place / "old.pt")
    assert report["connection"] == "192.0.2.1:443"


def test_the_exit_status_is_the_commands(place: Path, tmp_path: Path) -> None:
    assert guarded(place, tmp_path, "sh", "-c", "exit 7")[0].returncode == 7


# Runs a command without process_vm_readv, as containers do: a filter of four instructions.
UNREADABLE = """
import ctypes, os, struct, sys
number = {"x86_64": 310, "aarch64": 270}[os.uname().machine]
steps = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no filter")
os.execvp(sys.argv[1], sys.argv[1:])
"""


def test_nothing_runs_where_what_a_command_opens_cannot_be_read(place: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNREADABLE, BINARY, "guard", "--folder", tmp_path, "--", "echo", "ran"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "ran" not in done.stdout
    assert "SYS_PTRACE" in json.loads((tmp_path / "guard.json").read_text())["unavailable"], done.stderr


def test_nothing_runs_where_the_kernel_cannot_guard_it(place: Path, tmp_path: Path) -> None:
    """As below another filter that notifies, of which a process can have one."""
    inner = [BINARY, "guard", "--folder", "$TMPDIR", "--", "echo", "ran"]
    done, _ = guarded(place, tmp_path, "sh", "-c", " ".join(map(str, inner)) + "; cat $TMPDIR/guard.json")
    assert "ran" not in done.stdout
    assert "seccomp" in json.loads(done.stdout)["unavailable"]
