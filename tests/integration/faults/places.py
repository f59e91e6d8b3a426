"""Files, folders and clocks that are not what they were."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from random import Random

from bad_entries import entry, project
from conftest import BINARY
from lsp.editor import Editor
from lsp.project import agents, cache
from lsp.wire import PATIENCE, Daemon, connected

from .workers import kind_of, profiles_as
from .world import GOOD, SETTINGS, Fault, World, adds_to

FAULTS: list[Fault] = []
fault = adds_to(FAULTS)


@fault("file", "the kept profiles are overwritten or truncated", "a warning; a profile is made, and kept again")
def damaged_store(world: World, random: Random) -> None:
    for path in sorted(world.cache.glob("profiles.*")):
        data = bytearray(path.read_bytes())
        for _ in range(random.randint(1, 200)):
            if data:
                data[random.randrange(len(data))] = random.randrange(256)
        how = random.randrange(3)
        path.write_bytes(bytes(data) if how == 0 else data[: random.randrange(len(data) + 1)] if how == 1 else b"")
    with world.editor() as editor:
        profiles_as(editor, "")


@fault("file", "the kept profiles are deleted, or replaced by a folder", "a warning; a profile is made")
def no_store(world: World, random: Random) -> None:
    folder = random.random() < 0.5
    for path in sorted(world.cache.glob("profiles.*")):
        path.unlink()
        if folder:
            path.mkdir()
    with world.editor() as editor:
        profiles_as(editor, "")
    for path in world.cache.glob("profiles.*"):
        if path.is_dir():
            path.rmdir()


@fault(
    "file",
    "the agents in the cache are deleted or damaged",
    "a profile is made; the agent is rebuilt when it is needed",
)
def no_agent(world: World, random: Random) -> None:
    world.check_that_it_works()  # so that an interpreter is warm: a build takes a while
    for path in (world.cache / "agents").rglob("*.so"):
        data = path.read_bytes()
        path.unlink()  # not in place: it is mapped
        if random.random() < 0.5:
            path.write_bytes(data[: random.randrange(len(data))])
    with world.editor() as editor:
        profiles_as(editor, "")
    shutil.copytree(agents(), world.cache / "agents", dirs_exist_ok=True)  # a later fault has no time for a build


@fault(
    "file",
    "the entry file is replaced by something else while it is open",
    "`entry-unreadable`, or a profile of the open text",
)
def no_entry(world: World, random: Random) -> None:
    with world.editor() as editor:
        path = editor.folder / "entry.py"
        document = editor.open(path)
        path.unlink()
        how = random.choice(["gone", "folder", "pipe", "link to itself", "binary", "no permission", "no project"])
        if how == "folder":
            path.mkdir()
        elif how == "pipe":
            os.mkfifo(path)
        elif how == "link to itself":
            path.symlink_to(path)
        elif how == "binary":
            path.write_bytes(random.randbytes(10_000))
        elif how == "no permission":
            path.write_text(GOOD)
            path.chmod(0)
        elif how == "no project":
            shutil.rmtree(editor.folder)
        answer = editor.call("ridgeline/profile", document)
        assert kind_of(answer) in ("", "entry-unreadable", "-32602"), answer
        forget(editor)


def forget(editor: Editor) -> None:
    uri = (editor.folder / "entry.py").as_uri()
    editor.wire.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def real_timers(folder: Path) -> Path:
    """A library to preload before libfaketime."""
    built = folder / "real_timers.so"
    source = Path(__file__).with_name("real_timers.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, source], check=True)
    return built


@fault("machine", "the clock is moved by up to twenty years, either way", "profiles are made as before, also on a save")
def clock(world: World, random: Random) -> None:
    """In a daemon of its own, whose clock is libfaketime's: the machine's clock is not ours to change."""
    folder = Path(tempfile.mkdtemp(prefix="clock-", dir=world.temporary))
    # The address sanitizer reads the clock before libfaketime is ready for that, unless it never gives memory back.
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":allocator_release_to_os_interval_ms=-1"
    environment = cache(folder) | {
        "MARK": world.mark,
        "ASAN_OPTIONS": sanitizer,
        "LD_PRELOAD": f"{real_timers(folder)}:{next(Path('/usr/lib').glob('*/faketime/libfaketimeMT.so.1'))}",
        "FAKETIME_TIMESTAMP_FILE": str(folder / "offset"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",  # files keep the times that they have
    }

    def set_clock() -> None:
        (folder / "new").write_text(f"{random.randint(-20 * 365, 20 * 365):+}d\n")
        (folder / "new").rename(folder / "offset")

    set_clock()
    daemon = Daemon("--pipe", folder / "socket", log=folder / "log", env=environment)
    try:
        daemon.wait_for_words("listening at")
        with connected(folder / "socket") as wire:
            path = project(folder / "project", entry(step="time.sleep(0.05)"))
            editor = Editor(wire, path.parent, SETTINGS)
            editor.begin()
            asked = editor.wire.begin("ridgeline/profile", editor.open(path))
            time.sleep(random.random())
            set_clock()
            answer = editor.answer(asked)
            assert 50 < answer.get("result", {}).get("timeMs", 0) < 1000, answer
            editor.changes.clear()
            set_clock()
            editor.type_over(path.as_uri(), "lr=0.", "lr=0.0")
            editor.save(path)
            editor.settled()
            assert editor.ask("shutdown") is None
            wire.notify("exit")
    finally:
        assert daemon.stop() == 0, daemon.words()[-3000:]
        shutil.rmtree(folder)


@fault(
    "file",
    "`pyproject.toml` has a key of 200,000 parts, or a table of that name",
    "the settings are left out, with a message; a profile is made",
)
def deep_toml(world: World, random: Random) -> None:
    name = "a" + ".a" * 200_000
    with world.editor(files={"pyproject.toml": random.choice([f"{name} = 1\n", f"[{name}]\n"])}) as editor:
        profiles_as(editor, "")


@fault(
    "file",
    "a trace whose operations, functions or modules are nested 100,000 deep is imported",
    "a report, in time that grows as the trace does",
)
def deep_trace(world: World, random: Random) -> None:
    depth = 100_000
    kind, name = random.choice(
        [("cpu_op", "aten::mm"), ("python_function", "model.py(3): f"), ("python_function", "nn.Module: Block_1")]
    )
    path = world.folder / "deep.json"
    with path.open("w") as file:
        file.write("[")
        for level in range(depth):
            event = {"ph": "X", "cat": kind, "name": name, "ts": level, "dur": 2 * (depth - level), "tid": 1}
            file.write(json.dumps(event | {"args": {"Python module id": level}}) + ",\n")
        file.write(json.dumps({"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": depth, "dur": 1, "tid": 1}) + "]")
    command = [BINARY, "report", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20 * PATIENCE)
    path.unlink()
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
