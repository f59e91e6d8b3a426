"""The peak of a step's memory at one batch size, from two iterations alone.

`python peak_of_step.py AGENT ENTRY SIZE` prints the bytes that a profile of that size would have for its peak.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from ridgeline_runner.machine import interpreter
from ridgeline_runner.step.entry import EntryPoint, load
from ridgeline_runner.step.recorder import Recorder


def main(agent: str, path: str, size: int) -> int:
    recorder = Recorder(interpreter.load_agent(agent), str(Path(path).parent))
    assert recorder.track_memory()
    entry = EntryPoint.of(load(path, str(Path(path).parent)), path)
    positional, keywords = entry.models()
    step = entry.iteration(positional, keywords)
    inputs = entry.inputs(size)
    step(*inputs)  # creates the optimizer's state
    recorder.forget_freed()
    step(*inputs)
    return recorder.peak_bytes()


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
