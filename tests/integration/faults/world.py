"""A daemon that faults are tried on, with somebody beside them who must not notice, and what it uses."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from bad_entries import entry, project
from conftest import assert_all_gone
from lsp.editor import Editor
from lsp.project import cache
from lsp.wire import PATIENCE, Daemon, Wire, connected
from processes import processes_with

GOOD = entry()
KEPT_RECORDINGS = 4  # at most: server/store/recording_files.h
AT_ONCE = 40  # projects: a daemon remembers each that it has profiled
SETTINGS: dict[str, Any] = {"timeBudget": 0.05, "saveTimeBudget": 0.05, "batchSizes": [2]}
# docs/dev/protocol.md: what an answer may say went wrong.
CODES = {-32700, -32600, -32601, -32602, -32603, -32002, -32803, -32802, -32801, -32800}


@dataclass(frozen=True)
class Usage:
    descriptors: int
    processes: int
    files: frozenset[str]  # in the cache and the folder for temporary files, but for kept profiles and recordings

    def beyond(self, other: Usage) -> str:
        """What this has that the other has not; "" when nothing."""
        words = []
        if self.descriptors > other.descriptors:
            words.append(f"{self.descriptors - other.descriptors} descriptors")
        if self.processes > other.processes:
            words.append(f"{self.processes - other.processes} processes")
        if self.files - other.files:
            words.append(f"files {sorted(self.files - other.files)}")
        return ", ".join(words)


@dataclass
class World:
    """Has a folder to itself; ends with everything in it."""

    latencies: list[float] = field(default_factory=list)  # seconds until the bystander was answered

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="faults-"))
        self.cache, self.temporary = self.folder / "cache", self.folder / "tmp"
        self.temporary.mkdir(mode=0o700)
        self.socket, self.mark, self.projects = self.folder / "socket", f"mark-{uuid.uuid4()}", 0
        environment = cache(self.folder) | {"TMPDIR": str(self.temporary), "MARK": self.mark}
        self.daemon = Daemon("--pipe", self.socket, log=self.folder / "log", env=environment)
        self.daemon.wait_for_words("listening at")
        self._open = contextlib.ExitStack()
        self.bystander = self._open.enter_context(self.editor())
        self.document = self.bystander.open(self.bystander.folder / "entry.py")
        self.summary = self.bystander.ask("ridgeline/profile", self.document)
        self.settle()
        self.before = self.usage()

    # ---- what faults do

    def connect(self) -> contextlib.AbstractContextManager[Wire]:
        """A connection to which nothing has been said, and that may break rules."""
        return connected(self.socket, checked=False)

    def project(self, source: str | bytes = GOOD, files: dict[str, str] | None = None) -> Path:
        """A new entry point, in a project of its own: the first is the bystander's, others are made anew in turns."""
        self.projects += 1
        folder = self.folder / "projects" / str(self.projects if self.projects == 1 else 2 + self.projects % AT_ONCE)
        shutil.rmtree(folder, ignore_errors=True)
        return project(folder, source, files)

    @contextlib.contextmanager
    def editor(
        self, source: str | bytes = GOOD, files: dict[str, str] | None = None, **settings: Any
    ) -> Iterator[Editor]:
        """One with a new entry point in its folder; ends as the specification says, and what was said is judged."""
        with connected(self.socket) as wire:
            editor = Editor(wire, self.project(source, files).parent, SETTINGS | settings)
            editor.begin()
            yield editor
            assert editor.ask("shutdown") is None
            wire.notify("exit")
            while wire.receive() is not None:
                pass

    def workers(self) -> list[int]:
        """Processes that the daemon has started, and theirs."""
        return [pid for pid in processes_with(self.mark) if pid != self.daemon.process.pid]

    # ---- what must hold

    def usage(self) -> Usage:
        folder = Path("/proc") / str(self.daemon.process.pid) / "fd"
        files = {str(path) for root in (self.cache, self.temporary) for path in root.rglob("*")}
        recordings = {path for path in files if re.fullmatch(r".*/recordings/[0-9a-f]{16}", path)}
        assert len(recordings) <= KEPT_RECORDINGS, recordings
        kept = {path for path in files if "/profiles." in path} | recordings
        return Usage(len(list(folder.iterdir())), len(self.workers()), frozenset(files - kept))

    def memory(self) -> int:
        """Bytes of the daemon that are in memory."""
        pages = (Path("/proc") / str(self.daemon.process.pid) / "statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def settle(self) -> None:
        """Waits until the bystander's profile has nothing more to tell."""
        self.bystander.until(lambda: self.bystander.changes and not self.bystander.changes[-1]["profiling"])

    def check(self) -> None:
        """The daemon is there, answers others with the figures that they had, and has let go of everything."""
        assert self.daemon.process.poll() is None, f"the daemon has ended: {self.daemon.words()[-3000:]}"
        start = time.monotonic()
        now = self.bystander.ask("ridgeline/summary", self.document)
        self.latencies.append(time.monotonic() - start)
        assert now is not None and now["profileId"] == self.summary["profileId"], now
        deadline = time.monotonic() + PATIENCE
        while (more := self.usage().beyond(self.before)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not more, f"not given back: {more}"

    def check_that_it_works(self) -> None:
        with self.editor() as editor:
            made = editor.ask("ridgeline/profile", editor.open(editor.folder / "entry.py"))
            assert made["batchSize"] == 4 and made["samplesPerSecond"] > 0

    def end(self) -> None:
        """As a user would: the editor closes, the daemon is told to end."""
        try:
            self._open.close()
            assert self.daemon.stop() == 0, self.daemon.words()[-3000:]
            assert_all_gone(self.mark)
        finally:
            for pid in processes_with(self.mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong, in a way that is drawn anew each time."""

    group: str
    name: str
    happens: str  # what who is concerned sees; all others see nothing
    do: Callable[[World, Random], None]


Do = Callable[[World, Random], None]


def adds_to(table: list[Fault]) -> Callable[[str, str, str], Callable[[Do], Do]]:
    """For a module of faults: a decorator, of (group, name, what happens), that puts them into its table."""

    def fault(group: str, name: str, happens: str) -> Callable[[Do], Do]:
        def add(do: Do) -> Do:
            table.append(Fault(group, name, happens, do))
            return do

        return add

    return fault
