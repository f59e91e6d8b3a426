"""Imported by an interpreter that server.py has started: imports torch, then forks for everyone who asks (client.py).

Only a forked process returns from here, and goes on as an interpreter that has just begun: Python itself runs the file.
What torch brings is kept aside until somebody imports torch.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import importlib.machinery
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import traceback

PLACEHOLDER = sys.orig_argv[1]
FIRST = 200  # the number of the descriptor by which a forked process knows of the end of its client
WORDS_OF_CONFIG = 160


class Kept:
    """Finds a package that is imported already, and its modules, where Python would import it from the same file."""

    def __init__(self, name: str) -> None:
        self.package = importlib.import_module(name)
        self.modules = {other: module for other, module in sys.modules.items() if other.partition(".")[0] == "torch"}
        self.spec = self.package.__spec__

    def find_spec(self, name, path=None, target=None):
        if name != self.package.__name__ or name in sys.modules:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path)
        if found is None or found.origin != self.package.__file__:
            return None
        found.loader = self
        return found

    def create_module(self, spec):
        return self.package

    def exec_module(self, module) -> None:
        module.__spec__ = self.spec
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name, kept in self.modules.items():
            sys.modules.setdefault(name, kept)


def keep_torch() -> None:
    kept = [Kept("torch"), Kept("torch._dynamo")]
    del sys.modules["torch"]._dynamo
    kept[1].modules = {name: module for name, module in kept[1].modules.items() if name not in kept[0].modules}
    for one in kept:
        for name in one.modules:
            del sys.modules[name]
    sys.meta_path[:0] = kept


def receive(end: socket.socket) -> tuple[dict, list[int]]:
    head, descriptors, _, _ = socket.recv_fds(end, 8, 250)
    (length,) = struct.unpack("<Q", head)
    data = b""
    while len(data) < length:
        part = end.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return json.loads(data), descriptors


def memory_at(address: int, count: int) -> bytes:
    """Memory of this process; empty where it has none there."""
    try:
        with open("/proc/self/mem", "rb", 0) as memory:
            memory.seek(address)
            return memory.read(count)
    except (OSError, OverflowError, ValueError):
        return b""


def write_word(address: int, value: int) -> None:
    ctypes.c_uint64.from_address(address).value = value


def wide_copy(text: str) -> int:
    """A text as Python keeps those of its configuration, which it frees."""
    data = text.encode("utf-32-le", "surrogateescape") + b"\0\0\0\0"
    allocate = ctypes.pythonapi.PyMem_RawMalloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    address = allocate(len(data))
    ctypes.memmove(address, data, len(data))
    return address


class Configuration:
    """The words of this interpreter's PyConfig that say what it is to run: run_filename, two words before it
    run_command, and the first of argv. Raises RuntimeError where they are not found."""

    def __init__(self) -> None:
        current = ctypes.pythonapi.PyInterpreterState_Get
        current.restype = ctypes.c_void_p
        config = ctypes.pythonapi._PyInterpreterState_GetConfig
        config.restype, config.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        begin = config(current())
        words = (ctypes.c_uint64 * WORDS_OF_CONFIG).from_address(begin)
        wanted = PLACEHOLDER.encode("utf-32-le") + b"\0\0\0\0"
        self._files, self._arguments = [], []
        for i, word in enumerate(words):
            if memory_at(word, len(wanted)) == wanted:
                self._files.append(begin + 8 * i)
            elif i > 0 and 0 < words[i - 1] < 8:  # the length of a list
                (first,) = struct.unpack("<Q", memory_at(word, 8) or bytes(8))
                if memory_at(first, len(wanted)) == wanted:
                    self._arguments.append(word)
        if len(self._files) != 1 or not self._arguments or sys.version_info[:2] != (3, 11):
            raise RuntimeError("the configuration of this version of Python was not found")

    def run(self, arguments: list[str]) -> None:
        """Has Python run another file, or `-c CODE`, once it has begun."""
        (file,) = self._files
        is_code = arguments[0] == "-c"
        write_word(file, 0 if is_code else wide_copy(os.path.join(os.getcwd(), arguments[0])))
        write_word(file - 16, wide_copy(arguments[1] + "\n") if is_code else 0)
        for argument in self._arguments:
            write_word(argument, wide_copy(arguments[0]))


def show_in_proc(arguments: list[str], environment: dict[str, str]) -> None:
    """What /proc shows of this process: written where the kernel looks for it."""
    with open("/proc/self/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    arg_start, arg_end, env_start, env_end = map(int, fields[45:49])
    shown = [
        (arg_start, arg_end, arguments, 9),
        (env_start, env_end, [f"{name}={value}" for name, value in environment.items()], 11),
    ]
    for start, end, texts, limit in shown:
        data = b"".join(os.fsencode(text) + b"\0" for text in texts)[: end - start]
        ctypes.memmove(start, data.ljust(end - start, b"\0"), end - start)
        ctypes.CDLL(None).prctl(35, *map(ctypes.c_ulong, (limit, start + len(data), 0, 0)))  # PR_SET_MM, where allowed


def become(asked: dict, received: list[int], client: socket.socket, configuration: Configuration) -> None:
    held = fcntl.fcntl(client.fileno(), fcntl.F_DUPFD_CLOEXEC, FIRST)
    client.detach()
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST) for descriptor in received]
    os.closerange(0, FIRST)
    for descriptor, wanted in zip(moved, asked["descriptors"], strict=True):
        os.dup2(descriptor, wanted, inheritable=True)
        os.close(descriptor)
    os.chdir(asked["folder"])
    os.umask(asked["mask"])
    for name, soft, hard in asked["limits"]:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (soft, hard))
    os.sched_setaffinity(0, asked["processors"])
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, asked["nice"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in asked["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    # The end of the client ends this process as well.
    fcntl.fcntl(held, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(held, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(held, fcntl.F_SETFL, fcntl.fcntl(held, fcntl.F_GETFL) | os.O_ASYNC)
    alive = socket.socket(fileno=os.dup(held))
    with contextlib.suppress(BlockingIOError):
        if not alive.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            os._exit(1)
    alive.close()
    arguments = [sys.executable, *asked["arguments"]]
    os.environ.clear()
    os.environ.update(asked["environment"])
    show_in_proc(arguments, asked["environment"])
    sys.argv = ["-c", *asked["arguments"][2:]] if asked["arguments"][0] == "-c" else list(asked["arguments"])
    sys.orig_argv = arguments
    configuration.run(asked["arguments"])


def set_path() -> None:
    """As `site` leaves it in an interpreter with the environment's PYTHONPATH."""
    own = os.path.dirname(os.path.abspath(__file__))
    before = [os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(":")]
    rest = [folder for folder in sys.path if folder != own]
    sys.path[:] = dict.fromkeys([*(before if os.environ.get("PYTHONPATH") else []), *rest])
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()


def import_hidden() -> None:
    """The module of this one's name that the path has."""
    this = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = this


def reseed() -> None:
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def serve() -> None:
    """Returns in forked processes only."""
    address = os.environ["RIDGELINE_FORK_SERVER_ADDRESS"]
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)
    configuration = Configuration()
    keep_torch()
    gc.freeze()  # else a collection in a forked process copies the pages of all that torch has
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0" + address)
    server.listen(64)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    forked: dict[int, tuple[int, socket.socket]] = {}  # pidfd: process and client
    waiting = select.poll()
    waiting.register(server, select.POLLIN)
    while True:
        for descriptor, _ in waiting.poll():
            if descriptor in forked:
                process, client = forked.pop(descriptor)
                waiting.unregister(descriptor)
                os.close(descriptor)
                _, status = os.waitpid(process, 0)
                with client, contextlib.suppress(OSError):
                    client.sendall(struct.pack("<i", status))
                continue
            client, _ = server.accept()
            try:
                asked, received = receive(client)
            except (EOFError, OSError, ValueError, struct.error):
                client.close()
                continue
            ready, begin = os.pipe()
            process = os.fork()
            if process == 0:
                try:
                    os.setpgid(0, asked["group"])
                except OSError:
                    os._exit(127)
                os.write(begin, b"1")
                for other in (server, *(client for _, client in forked.values())):
                    other.detach()  # become() closes it: its number will be another's
                become(asked, received, client, configuration)
                return
            os.close(begin)
            is_begun = os.read(ready, 1) == b"1"
            os.close(ready)
            for one in received:
                os.close(one)
            if not is_begun:  # the client runs the interpreter itself
                os.waitpid(process, 0)
                client.close()
                continue
            with contextlib.suppress(OSError):
                client.sendall(struct.pack("<ii", process, os.getpgrp()))
            pidfd = os.pidfd_open(process)
            forked[pidfd] = (process, client)
            waiting.register(pidfd, select.POLLIN)


try:
    serve()
except Exception:  # nobody is served: clients run the interpreter itself
    traceback.print_exc()
    os._exit(1)
set_path()
import_hidden()
reseed()
