"""`server.py COMMAND...`: runs a command of tests, for which interpreters stand ready that have torch imported.

$RIDGELINE_FORK_SERVER tells `python` in this folder (client.py) where to ask for one. There is one for each environment
that Python, torch and their libraries may read while they begin; it is started when such an environment is seen for the
second time. All of them end with this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REAL = os.environ.get("RIDGELINE_REAL_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
MOST = 6  # interpreters that stand ready; each holds 150 MB or so
# Room for the command line and the environment of what is forked, as /proc shows them.
ROOM = {"arguments": 4 << 10, "environment": 64 << 10}
# Beside these, PYTHONPATH is passed on.
READ_AT_BEGINNING = (
    "ATEN",
    "CUDA",
    "GLIBC",
    "GOMP",
    "KMP",
    "LANG",
    "LC_",
    "LD_",
    "MALLOC",
    "MKL",
    "NUM",
    "NVIDIA",
    "OMP",
    "OPENBLAS",
    "PYTHON",
    "PYTORCH",
    "TORCH",
)


def read_at_beginning(environment: dict[str, str]) -> dict[str, str]:
    read = {name: value for name, value in environment.items() if name.startswith(READ_AT_BEGINNING)}
    read.pop("PYTHONPATH", None)
    return read


def key_of(environment: dict[str, str]) -> str:
    return json.dumps(read_at_beginning(environment), sort_keys=True)


class Interpreters:
    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: set[str] = set()
        self._addresses: dict[str, str] = {}
        self._lock = threading.Lock()

    def address(self, environment: dict[str, str]) -> str:
        """Of the interpreter for that environment; empty: there is none, or not yet."""
        key = key_of(environment)
        with self._lock:
            if key in self._addresses:
                return self._addresses[key]
            if key in self._seen and len(self._addresses) < MOST:
                self._addresses[key] = f"{self._name}-{len(self._addresses)}"
                self._start(environment, self._addresses[key])
            self._seen.add(key)
        return ""

    def _start(self, environment: dict[str, str], address: str) -> None:
        room = {"RIDGELINE_ROOM": "e" * ROOM["environment"]}
        ours = {name: value for name, value in os.environ.items() if not name.startswith(READ_AT_BEGINNING)}
        own = {"PYTHONPATH": str(HERE / "site"), "RIDGELINE_FORK_SERVER_ADDRESS": address}
        subprocess.Popen(
            [REAL, f"/nowhere/{address}", "a" * ROOM["arguments"]],
            env={**ours, **read_at_beginning(environment), **own, **room},  # without marks that tests look for
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if "RIDGELINE_FORK_SERVER_LOG" in os.environ else subprocess.DEVNULL,
        )


def answer(end: socket.socket, interpreters: Interpreters) -> None:
    with end, contextlib.suppress(OSError, ValueError, struct.error):
        (length,) = struct.unpack("<Q", end.recv(8, socket.MSG_WAITALL))
        message = json.loads(end.recv(length, socket.MSG_WAITALL))
        end.sendall(interpreters.address(message["environment"]).encode())


def listen(server: socket.socket, interpreters: Interpreters) -> None:
    while True:
        end, _ = server.accept()
        threading.Thread(target=answer, args=(end, interpreters), daemon=True).start()


def main() -> int:
    name = f"ridgeline-fork-server-{secrets.token_hex(8)}"
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0" + name)
    server.listen(64)
    threading.Thread(target=listen, args=(server, Interpreters(name)), daemon=True).start()
    forked = os.environ.get("RIDGELINE_FORKED_PYTHON", str(HERE / "python"))
    own = {
        "RIDGELINE_FORK_SERVER": name,
        "RIDGELINE_REAL_PYTHON": REAL,
        "RIDGELINE_FORKED_PYTHON": forked,
    }
    command = subprocess.Popen(sys.argv[1:], env={**os.environ, **own})
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides
    signal.signal(signal.SIGTERM, lambda *_: command.terminate())
    status = command.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
