"""What a step asks of the host's allocator in three iterations: as it is listed, and as it really runs.

`python memory_requests.py ENTRY AGENT CHANGE...` prints both as JSON; with the change `bf16-autocast` also what steps
ask for that are listed while they run, as a script's are, with a mark before the second. With the change `offload` it
is listed as for a device; when it really runs, torch's allocator stands for the device's, and NumPy's has what is
offloaded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))

import torch
from ridgeline_runner.changes import trial
from ridgeline_runner.changes.change import Way
from ridgeline_runner.machine import interpreter
from ridgeline_runner.step import operation_log
from ridgeline_runner.step.entry import EntryPoint, load_entry_point
from ridgeline_runner.step.recorder import Recorder
from ridgeline_runner.step.step_listing import OwnStep

ITERATIONS = 3


def in_numpy(tensor: torch.Tensor) -> Any:
    """A copy from a device makes a contiguous tensor there first."""
    contiguous = None if tensor.is_contiguous() else torch.empty(tensor.shape)
    data = tensor.numpy().copy(order="C")
    del contiguous
    return data


def in_torch(data: Any) -> torch.Tensor:
    return torch.empty(data.shape).copy_(torch.from_numpy(data))


def offloaded(forward: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(in_numpy, in_torch):
            return forward(*args)

    return run


def requests(
    entry: EntryPoint, changes: list[str], recorder: Recorder, way: Way, run: Callable[[Any], None]
) -> list[int]:
    is_by_numpy = way is Way.RUN and "offload" in changes
    made = [change for change in changes if change != "offload"] if is_by_numpy else changes
    parts, _, begin = trial.build_observed(entry, made, recorder, way)
    if is_by_numpy:
        for block in parts.models[0].blocks:
            block.forward = offloaded(block.forward)
    with parts.surroundings():
        for _ in range(ITERATIONS):
            run(lambda: parts.function(*parts.inputs))
        return recorder.requests_since(begin)


def requests_of_own_steps(entry: EntryPoint, changes: list[str], recorder: Recorder) -> list[int]:
    parts, _, begin = trial.build_observed(entry, changes, recorder, Way.RUN)
    operations: list[int] = []
    ends: list[int] = []
    with parts.surroundings():
        for _ in range(ITERATIONS):
            step = OwnStep(before=lambda: operations.append(recorder.moment()))
            step.begin()
            parts.function(*parts.inputs)
            step.close()
            ends.append(recorder.moment())
        return recorder.requests_since(begin, operations, ends[0])


def main(path: str, agent: str, changes: list[str]) -> dict[str, list[int]]:
    folder = str(Path(path).parent)
    recorder = Recorder(interpreter.load_agent(agent), folder)
    assert recorder.track_memory()
    entry = load_entry_point({"entry": path, "projectRoot": folder})
    listed = Way.LISTED_FOR_CUDA if "offload" in changes else Way.LISTED
    ways = {"listed": (listed, operation_log.run_uncomputed), "real": (Way.RUN, lambda step: step())}
    found = {name: requests(entry, changes, recorder, way, run) for name, (way, run) in ways.items()}
    own = {"own": requests_of_own_steps(entry, changes, recorder)} if changes == ["bf16-autocast"] else {}
    return found | own


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3:])))
