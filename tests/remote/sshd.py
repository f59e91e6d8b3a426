"""A machine to profile on: a real sshd for this user alone, with a cache, a home and processes of its own.

Also a program, for tests in other languages: `sshd.py AGENTS` prints {"host": NAME, "options": [...], "folder": PATH}
and serves until its standard input ends; a line "drop" breaks the connections.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from processes import processes_with

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")

CONFIG = """
ListenAddress {address}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv {environment}
"""


@dataclass
class Host:
    folder: Path
    address: str
    port: int

    @property
    def ssh_options(self) -> list[str]:
        return [
            f"-p{self.port}",
            f"-i{self.folder}/user_key",
            "-oIdentitiesOnly=yes",
            "-oStrictHostKeyChecking=no",
            f"-oUserKnownHostsFile={self.folder}/known_hosts",
            "-oLogLevel=ERROR",
            "-Fnone",
        ]

    @property
    def options(self) -> list[str]:
        """Options for `ridgeline remote`."""
        return [f"--ssh-option={option}" for option in self.ssh_options]

    @property
    def name(self) -> str:
        return f"{getpass.getuser()}@{self.address}"

    def processes(self, words: str) -> list[int]:
        """What runs there and has the words in its command line."""
        return processes_with(f"RIDGELINE_CACHE={self.folder}/cache", words)

    def drop_connections(self) -> None:
        """As a machine that is restarted: nobody says goodbye."""
        for number in self.processes(" relay"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving(
    agents: Path, address: str = "127.0.0.1", inside: Sequence[str] = (), variables: dict[str, str] | None = None
) -> Iterator[Host]:
    """`agents`: the built agents of this interpreter; `inside`: the command that runs sshd in another network;
    `variables`: of the environment there, with the others."""
    assert SSHD, "openssh-server is not installed"
    folder = Path(tempfile.mkdtemp(prefix="host"))  # the path of a socket has to be short
    for name in ("cache", "run"):
        (folder / name).mkdir(parents=True, mode=0o700)
    shutil.copytree(agents, folder / "cache" / "agents")
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    host = Host(folder, address, free_port())
    environment = {
        "RIDGELINE_CACHE": folder / "cache",
        "XDG_CACHE_HOME": folder / "home",
        "XDG_RUNTIME_DIR": folder / "run",
        "RIDGELINE_AGENT_FLAGS": os.environ.get("RIDGELINE_AGENT_FLAGS", ""),  # those of the agents that were copied
    } | (variables or {})
    settings = " ".join(f'"{name}={value}"' for name, value in environment.items())
    (folder / "sshd_config").write_text(
        CONFIG.format(port=host.port, folder=folder, address=address, environment=settings)
    )
    log = folder / "sshd.log"
    with log.open("wb") as errors:
        server = subprocess.Popen([*inside, SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=errors)
    try:
        while "listening" not in log.read_text():
            assert server.poll() is None, log.read_text()
            time.sleep(0.01)
        yield host
    finally:
        server.terminate()
        server.wait()
        for number in host.processes(""):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    with serving(Path(sys.argv[1])) as here:
        said = {"host": here.name, "options": here.ssh_options, "folder": str(here.folder)}
        print(json.dumps(said), flush=True)
        for line in sys.stdin:
            if line.strip() == "drop":
                here.drop_connections()
