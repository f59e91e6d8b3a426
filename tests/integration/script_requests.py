"""What a step asks of another device's allocator: as an entry point, and as a script that has been under way for some
steps and changes the step between two of them.

`python script_requests.py ENTRY AGENT CHANGE...` prints the requests of both as JSON: without a change, then with each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from capture_steps import Kept
from ridgeline_runner.changes import experiment
from ridgeline_runner.machine import interpreter
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.script.experiment import ScriptExperiment
from ridgeline_runner.step.entry import EntryPoint, load_entry_point
from ridgeline_runner.step.recorder import Recorder
from ridgeline_runner.step.reporter import Reporter

EARLIER_STEPS = 3
BATCH = 256


def captured(channel: Kept) -> list[dict[str, Any]]:
    return [message for message in channel.sent if message["type"] == "captured"]


def of_entry(entry: EntryPoint, spec: dict[str, Any], recorder: Recorder) -> list[dict[str, Any]]:
    channel = Kept()
    experiment.capture(spec, Reporter(channel), recorder, entry)
    return captured(channel)


def of_script(entry: EntryPoint, spec: dict[str, Any], recorder: Recorder) -> list[dict[str, Any]]:
    import torch

    channel = Kept()
    model = entry.model_provider()
    optimizer = torch.optim.Adam(model.parameters())
    loaders, batch = SimpleNamespace(is_at_work=False), SimpleNamespace(size=BATCH, loader_sizes=[], obstacle="")
    script = ScriptExperiment(spec, recorder, Reporter(channel), (model,), [optimizer], Device(), loaders, batch, 0)
    for number in range(1000):
        loaders.is_at_work = True
        x = torch.randn(BATCH, 96)
        loaders.is_at_work = False
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        if number >= EARLIER_STEPS and script.step_ended(1000, {}):
            break
    return captured(channel)


def main(path: str, agent: str, changes: list[str]) -> dict[str, list[list[int]]]:
    folder = str(Path(path).parent)
    recorder = Recorder(interpreter.load_agent(agent), folder)
    assert recorder.track_memory()
    entry = load_entry_point({"entry": path, "projectRoot": folder})
    spec = {"kind": "capture", "changes": [[one] for one in changes], "forCuda": True, "memoryLimitBytes": 0}
    both = {"entry": of_entry(entry, spec, recorder), "script": of_script(entry, spec, recorder)}
    return {name: [message["requests"] for message in messages] for name, messages in both.items()}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3:])))
