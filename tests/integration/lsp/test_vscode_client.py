"""VS Code's own client library, in Node, over all three transports."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import BINARY

from .conftest import Recorded

HERE = Path(__file__).parent


def run(transport: str, *command: str | Path) -> dict[str, Any]:
    node = shutil.which("node")
    assert node and (HERE / "node_modules").is_dir(), "./dev installs node and node_modules"
    arguments = [node, HERE / "vscode_client.mjs", transport, *command]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expect(seen: dict[str, Any]) -> None:
    assert seen == {
        "registered": ["workspace/didChangeConfiguration"],
        "asked": ["ridgeline"],
        "server": "ridgeline",
        "encoding": "utf-16",
        "second": -32600,
        "unknown": -32601,
        "late": -32600,
        "code": 0,
    }


@pytest.mark.parametrize("transport", ["stdio", "pipe", "socket"])
def test_a_session(transport: str):
    expect(run(transport, BINARY, "serve"))


def test_what_is_said_conforms(recorded: Recorded):
    expect(run("stdio", *recorded.command[:-1]))
    said = recorded.judge()
    assert said.unanswered() == []
    # It said what it must not, to see what comes back.
    assert set(said.problems()) <= {"client: no/such: is no method of LSP"}
    recorded.log.write_text("")
