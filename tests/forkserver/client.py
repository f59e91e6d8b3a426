"""Runs `python FILE [ARGUMENT...]`, or `-c CODE` in place of the file, in a process that is forked from an interpreter
which has imported torch already.

Most of a test's time would otherwise be the import of torch. What runs is the real interpreter: it goes on from where
Python has imported `site` (site/sitecustomize.py), with the file, arguments, environment, folder, descriptors and
process group of this process, and torch is imported when it says `import torch`. It ends when this process ends;
signals to this process are passed on to it; this process ends as it does.

Whatever else may matter to it (other options, a terminal, another session or namespace, a preloaded library) is left to
the interpreter itself: this process becomes it. So it does where $RIDGELINE_FORK_SERVER is not set (server.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import struct
import sys
from typing import NoReturn

NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
PASSED_ON = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTERM,
    signal.SIGCONT,
    signal.SIGWINCH,
    signal.SIGALRM,
    signal.SIGTSTP,
)
LIMITS = [name for name in dir(resource) if name.startswith("RLIMIT_")]


def run_interpreter() -> NoReturn:
    """Becomes the interpreter itself."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as they were before Python began here
        signal.signal(number, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])


def can_fork() -> bool:
    """Whether nothing is unusual about this process, as far as it can tell alone."""
    if "RIDGELINE_FORK_SERVER" not in os.environ or "LD_PRELOAD" in os.environ:
        return False
    if len(sys.argv) < 2 or not (os.path.exists(sys.argv[1]) or (sys.argv[1] == "-c" and len(sys.argv) > 2)):
        return False
    if any(os.isatty(descriptor) for descriptor in range(3)):
        return False
    with open("/proc/self/status") as status:
        return "\nSeccomp:\t0\n" in status.read()


def is_alike(process: int) -> bool:
    """Whether a process that the other one forks differs in nothing that is not passed on to it."""
    with contextlib.suppress(OSError):
        return os.getsid(process) == os.getsid(0) and all(
            os.readlink(f"/proc/{process}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES
        )
    return False


def descriptors() -> list[int]:
    """What was open when this process began."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.get_inheritable(int(name)):
                found.append(int(name))
    return sorted(found)


def request() -> dict:
    mask = os.umask(0o77)
    os.umask(mask)
    return {
        "arguments": sys.argv[1:],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "descriptors": descriptors(),
        "group": os.getpgid(0),
        "mask": mask,
        "limits": [[name, *resource.getrlimit(getattr(resource, name))] for name in LIMITS],
        "processors": sorted(os.sched_getaffinity(0)),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "ignored": [number for number in (signal.SIGHUP, signal.SIGINT) if signal.getsignal(number) == signal.SIG_IGN],
    }


def send(end: socket.socket, message: dict, with_descriptors: list[int]) -> None:
    data = json.dumps(message).encode()
    data = struct.pack("<Q", len(data)) + data
    sent = socket.send_fds(end, [data], with_descriptors)
    if sent < len(data):
        end.sendall(data[sent:])


def connect(address: str) -> socket.socket | None:
    end = socket.socket(socket.AF_UNIX)
    try:
        end.connect("\0" + address)
    except OSError:
        return None
    peer, user, _ = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return end if user == os.geteuid() and is_alike(peer) else None


def main() -> None:
    if not can_fork():
        run_interpreter()
    server = connect(os.environ["RIDGELINE_FORK_SERVER"])
    if server is None:
        run_interpreter()
    asked = request()
    send(server, {"environment": asked["environment"]}, [])
    address = server.recv(256).decode()
    server.close()
    interpreter = connect(address) if address else None
    if interpreter is None:
        run_interpreter()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    send(interpreter, asked, asked["descriptors"])
    started = interpreter.recv(8, socket.MSG_WAITALL)
    if len(started) < 8:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        run_interpreter()
    process, group = struct.unpack("<ii", started)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(process, number))
    with contextlib.suppress(OSError):
        os.setpgid(0, group)  # what is sent to the group of this process goes to the other one, once
    for descriptor in asked["descriptors"]:
        os.close(descriptor)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    status = interpreter.recv(4, socket.MSG_WAITALL)
    code = os.waitstatus_to_exitcode(struct.unpack("<i", status)[0]) if len(status) == 4 else 1
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
