"""Recordings of an example's steps for `./dev bench reserved`.

`python record_steps.py AGENT ENTRY FOLDER sampled SIZE...` records each batch size after the other in one process, as a
profile does. With `whole` in place of `sampled`, it records one batch size from before the model is built: every
request that a training run makes. Both write FOLDER/SIZE.bin.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from ridgeline_runner.machine import interpreter
from ridgeline_runner.step.entry import EntryPoint, load
from ridgeline_runner.step.recorder import Recorder, Stage

WARMUP = 3
WHOLE_ITERATIONS = 8


def main(agent_path: str, path: str, folder: Path, whole: bool, sizes: list[int]) -> None:
    agent = interpreter.load_agent(agent_path)
    recorder = Recorder(agent, str(Path(path).parent))
    assert recorder.track_memory()
    recorder.stage(Stage.LOAD)
    entry = EntryPoint.of(load(path, str(Path(path).parent)), path)
    if whole:
        agent.begin()
    recorder.stage(Stage.MODEL)
    positional, keywords = entry.models()
    recorder.set_models(positional, keywords)
    step = entry.iteration(positional, keywords)
    for size in sizes:
        recorder.stage(Stage.INPUT)
        inputs = entry.inputs(size)
        recorder.stage(Stage.ITERATION)
        if whole:
            for _ in range(WHOLE_ITERATIONS):
                agent.iteration_begin()
                step(*inputs)
                agent.iteration_end()
            agent.end()
        else:
            for iteration in range(WARMUP):
                step(*inputs)
                if size == sizes[0] and iteration == 0:
                    agent.keep_first_events()
                recorder.forget_freed()
            recorder.record(step, inputs, 2)
        (folder / f"{size}.bin").write_bytes(recorder.finish())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4] == "whole", [int(size) for size in sys.argv[5:]])
