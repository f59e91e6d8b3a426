"""A stand-in for the interpreter that has torch, for tests that are not about torch: a run that was made before, of the
same code with the same options by the same runner and agent, is replayed. Any other is made by the real interpreter,
and recorded, unless it was cut short.

It speaks with the daemon as the fork server of a worker does (protocol/worker_messages.h). What a run does beside its
messages and its output, such as writing files, is not replayed: tests of that take the real interpreter, which is
$RIDGELINE_REAL_PYTHON, else that of .venv. The recordings are in $RIDGELINE_RECORDED_RUNS, else in
build/cache/recorded-runs; they may be removed at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import select
import shutil
import socket
import struct
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "recorded"))
sys.dont_write_bytecode = True

from recording import moved

REAL = os.environ.get("RIDGELINE_REAL_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
CACHE = Path(os.environ.get("RIDGELINE_RECORDED_RUNS", ROOT / "build" / "cache" / "recorded-runs"))
HEADER = struct.Struct("<2sBBI")
MESSAGE = 1
# A limit of memory is what is free on the machine, unless a test sets one, which is smaller.
LEAST_FREE = 1 << 30


class Wire:
    """One end of a channel, in frames: (kind, payload)."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.descriptors: list[int] = []
        self.sending = threading.Lock()

    def receive(self) -> tuple[int, bytes] | None:
        """None at the end."""
        header = self._exactly(HEADER.size)
        if header is None:
            return None
        _, _, kind, length = HEADER.unpack(header)
        payload = self._exactly(length)
        return None if payload is None else (kind, payload)

    def _exactly(self, count: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            try:
                data, descriptors, _, _ = socket.recv_fds(self.end, count - len(parts), 8)
            except OSError:
                return None
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)
            self.descriptors += descriptors
            if not data:
                return None
            parts += data
        return bytes(parts)

    def send(self, frame: tuple[int, bytes], descriptors: list[int] | None = None) -> None:
        kind, payload = frame
        data = HEADER.pack(b"RL", 1, kind, len(payload)) + payload
        with self.sending:
            sent = socket.send_fds(self.end, [data], descriptors) if descriptors else 0
            self.end.sendall(data[sent:])

    def say(self, message: dict) -> None:
        self.send((MESSAGE, json.dumps(message).encode()))


def python_files(root: str) -> list[str]:
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        found += [os.path.join(folder, name) for name in sorted(files) if name.endswith(".py")]
    return found


def digest_of(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def key_of(spec: dict, runner: str) -> str:
    """Equal for runs that do the same, wherever their project and the runner are."""
    root = spec["projectRoot"]
    same = {name: value for name, value in spec.items() if name != "memoryLimitBytes" or value < LEAST_FREE}
    files = {path.removeprefix(root): digest_of(path) for path in python_files(root)}
    text = json.dumps([same, files, REAL], sort_keys=True).replace(root, "<project>").replace(runner, "<runner>")
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Recordings:
    """Those of one runner with one agent; the ones of others are removed."""

    def __init__(self, runner: str, agent: str) -> None:
        version = Path(runner).parents[2].name  # the hash of the sources that the daemon has unpacked
        packages = digest_of(str(ROOT / "requirements.txt"))
        made_by = hashlib.sha256(f"{version} {digest_of(agent)} {packages}".encode()).hexdigest()[:16]
        self.runner = runner
        self.folder = CACHE / made_by
        if not self.folder.exists():
            for other in CACHE.glob("*/"):
                shutil.rmtree(other, ignore_errors=True)
            self.folder.mkdir(parents=True, exist_ok=True)

    def load(self, key: str, root: str) -> list | None:
        """What was said and done, as in this project; None: nothing, or files outside of it have changed since."""
        try:
            recorded = pickle.loads((self.folder / key).read_bytes())
        except OSError:
            return None
        if any(digest_of(path) != digest for path, digest in recorded["outside"].items()):
            return None
        return moved(recorded["events"], {recorded["root"]: root, recorded["runner"]: self.runner})

    def save(self, key: str, root: str, events: list) -> None:
        outside = {path: digest_of(path) for path in imported_by(events) if not path.startswith(f"{root}/")}
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f"{key}.{os.getpid()}"
        draft.write_bytes(pickle.dumps({"root": root, "runner": self.runner, "outside": outside, "events": events}))
        draft.rename(self.folder / key)


def imported_by(events: list) -> set[str]:
    """The files of the user's that a run imported."""
    found: set[str] = set()
    for what, kind, payload in events:
        if what == "said" and kind == MESSAGE and b'"importedFiles"' in payload:
            found.update(json.loads(payload).get("importedFiles", []))
    return found


class Recorder:
    """Passes on what a real run says and is told, and keeps it until the run has ended."""

    def __init__(self, channel: int, output: int) -> None:
        self.daemon = Wire(socket.socket(fileno=channel))
        ours, self.theirs = socket.socketpair()
        self.run = Wire(ours)
        self.output = output
        read, self.write = os.pipe()
        self.events: list = []
        self.threads = [
            threading.Thread(target=one, args=more, daemon=True) for one, *more in ((self.hear,), (self.copy, read))
        ]
        threading.Thread(target=self.tell, daemon=True).start()

    def begin(self) -> None:
        """Once the run has its ends."""
        self.theirs.close()
        os.close(self.write)
        for thread in self.threads:
            thread.start()

    def hear(self) -> None:
        while (frame := self.run.receive()) is not None:
            self.events.append(("said", *frame))
            try:
                self.daemon.send(frame)
            except OSError:
                break
        self.daemon.end.shutdown(socket.SHUT_RDWR)  # which also ends tell()

    def tell(self) -> None:
        while (frame := self.daemon.receive()) is not None:
            self.events.append(("told", *frame))
            self.run.send(frame)

    def copy(self, read: int) -> None:
        while data := os.read(read, 65536):
            self.events.append(("printed", 0, data))
            os.write(self.output, data)
        os.close(self.output)


def replay(events: list, channel: int, output: int) -> int:
    """Says it all again; then the status of the process."""
    wire = Wire(socket.socket(fileno=channel))
    status = 0
    for what, kind, payload in events:
        if what == "said":
            wire.send((kind, payload))
        elif what == "told":
            wire.receive()
        elif what == "printed":
            os.write(output, payload)
        else:
            status = kind
    return status


class Parent:
    """What the daemon takes for the fork server of a worker."""

    def __init__(self, runner: str, control: int) -> None:
        self.runner = runner
        os.set_inheritable(control, False)
        self.daemon = Wire(socket.socket(fileno=control))
        self.real: Wire | None = None
        self.agent = ""
        self.recordings: Recordings | None = None
        self.recorders: dict[int, tuple[Recorder, str, str]] = {}  # by the number of the run

    def serve(self) -> None:
        self.describe()
        while True:
            ends = [self.daemon.end] + ([self.real.end] if self.real else [])
            readable, _, _ = select.select(ends, [], [])
            if self.real and self.real.end in readable:
                self.pass_on()
            if self.daemon.end in readable:
                frame = self.daemon.receive()
                if frame is None:
                    os._exit(0)  # the real one ends with its channel
                self.answer(json.loads(frame[1]), frame)

    def describe(self) -> None:
        """The real interpreter says what it is, once."""
        made_by = f"{REAL} {Path(self.runner).parents[2].name} {digest_of(str(ROOT / 'requirements.txt'))}"
        known = CACHE / f"{hashlib.sha256(made_by.encode()).hexdigest()[:16]}.ready"
        try:
            runner, ready = json.loads(known.read_text())
            self.daemon.send((MESSAGE, ready.replace(runner, self.runner).encode()))
            return
        except OSError:
            pass
        self.start_real()
        frame = self.real.receive()
        if frame is None:
            os._exit(1)
        if json.loads(frame[1])["type"] == "ready":
            CACHE.mkdir(parents=True, exist_ok=True)
            draft = known.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps([self.runner, frame[1].decode()]))
            draft.rename(known)
        self.daemon.send(frame)

    def start_real(self) -> None:
        """This process becomes the real interpreter, since the daemon compares what it forks with it; another goes on
        as this one, in between. It is no child of the real one, which ends its descendants after each run."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child != 0:
            os.waitpid(child, 0)
            os.set_inheritable(theirs.fileno(), True)
            os.execv(REAL, [REAL, self.runner, str(theirs.fileno())])
        if os.fork() != 0:
            os._exit(0)
        theirs.close()
        self.real = Wire(ours)

    def answer(self, message: dict, frame: tuple[int, bytes]) -> None:
        if message["type"] == "loadAgent":
            self.agent = message["path"]
            self.recordings = Recordings(self.runner, self.agent)
            if self.real:
                self.real.send(frame)
            else:
                self.daemon.say({"type": "agentLoaded"})
        elif message["type"] == "run":
            self.run(message, frame, [self.daemon.descriptors.pop(0), self.daemon.descriptors.pop(0)])

    def run(self, message: dict, frame: tuple[int, bytes], descriptors: list[int]) -> None:
        spec = message["spec"]
        key, root = key_of(spec, self.runner), spec["projectRoot"]
        events = self.recordings.load(key, root)
        if events is not None:
            self.replay(message["id"], events, descriptors)
            return
        if not self.real:
            self.start_real()
            self.real.receive()  # ready
            self.real.say({"type": "loadAgent", "path": self.agent})
            self.real.receive()  # agentLoaded
        recorder = Recorder(*descriptors)
        self.recorders[message["id"]] = (recorder, key, root)
        self.real.send(frame, [recorder.theirs.fileno(), recorder.write])
        recorder.begin()

    def replay(self, run: int, events: list, descriptors: list[int]) -> None:
        process = os.fork()
        if process == 0:
            status = 70
            try:
                os.setpgid(0, 0)
                self.daemon.end.close()
                status = replay(events, *descriptors)
            finally:
                os._exit(status)
        for descriptor in descriptors:
            os.close(descriptor)
        self.daemon.say({"type": "started", "id": run, "pid": process, "parent": os.getpid()})
        _, status = os.waitpid(process, 0)
        self.daemon.say({"type": "exited", "id": run, "status": status})

    def pass_on(self) -> None:
        """What the real parent says: a run that has ended by itself is kept."""
        frame = self.real.receive()
        if frame is None:
            os._exit(0)
        message = json.loads(frame[1])
        if message["type"] == "exited" and message["id"] in self.recorders:
            recorder, key, root = self.recorders.pop(message["id"])
            for thread in recorder.threads:
                thread.join(5)
            if os.WIFEXITED(message["status"]) and not any(thread.is_alive() for thread in recorder.threads):
                self.recordings.save(key, root, [*recorder.events, ("ended", os.WEXITSTATUS(message["status"]), b"")])
        self.daemon.send(frame)


def main() -> None:
    if len(sys.argv) != 3 or not sys.argv[1].endswith("/ridgeline_runner"):
        os.execv(REAL, [REAL, *sys.argv[1:]])
    Parent(sys.argv[1], int(sys.argv[2])).serve()


main()
