"""What a step asks of the host's allocator in three iterations: as it is listed, and as it really runs.

`python memory_requests.py ENTRY AGENT CHANGE...` prints both as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))

from ridgeline_runner.changes import trial
from ridgeline_runner.machine import interpreter
from ridgeline_runner.step import operation_log
from ridgeline_runner.step.entry import EntryPoint, load_entry_point
from ridgeline_runner.step.recorder import Recorder

ITERATIONS = 3


def requests(entry: EntryPoint, changes: list[str], recorder: Recorder, run: Callable[[Any], None]) -> list[int]:
    parts, _, begin = trial.build_observed(entry, changes, recorder)
    with parts.surroundings():
        for _ in range(ITERATIONS):
            run(lambda: parts.function(*parts.inputs))
        return recorder.requests_since(begin)


def main(path: str, agent: str, changes: list[str]) -> dict[str, list[int]]:
    folder = str(Path(path).parent)
    recorder = Recorder(interpreter.load_agent(agent), folder)
    assert recorder.track_memory()
    entry = load_entry_point({"entry": path, "projectRoot": folder})
    ways = {"listed": operation_log.run_uncomputed, "real": lambda step: step()}
    return {name: requests(entry, changes, recorder, run) for name, run in ways.items()}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3:])))
