"""Lists the operations of an entry point's step and of changed ones, as a what-if answer has it, and prints what the
daemon would be sent.

`python capture_steps.py ENTRY AGENT MEMORY_LIMIT CHANGE...`
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))

from ridgeline_runner.changes import experiment
from ridgeline_runner.common.channel import Channel
from ridgeline_runner.machine import interpreter
from ridgeline_runner.step.entry import load_entry_point
from ridgeline_runner.step.recorder import Recorder
from ridgeline_runner.step.reporter import Reporter


class Kept(Channel):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__(socket.socketpair()[0])
        self.sent: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)


def main(entry: str, agent: str, memory_limit_bytes: int, changes: list[str]) -> list[dict[str, Any]]:
    folder = str(Path(entry).parent)
    recorder = Recorder(interpreter.load_agent(agent), folder)
    assert recorder.track_memory()
    loaded = load_entry_point({"entry": entry, "projectRoot": folder})
    channel = Kept()
    spec = {"changes": [[change] for change in changes], "forCuda": False, "memoryLimitBytes": memory_limit_bytes}
    experiment.capture(spec, Reporter(channel), recorder, loaded)
    return [message for message in channel.sent if message["type"] == "captured"]


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])))
