"""Runs N steps of an entry point, plain or recorded, and prints a digest of everything that the steps changed.

`python run_steps.py plain|recorded ENTRY N AGENT`
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))

import torch
from ridgeline_runner.machine import interpreter
from ridgeline_runner.step.entry import load
from ridgeline_runner.step.recorder import Recorder, Stage


def digest(model: torch.nn.Module) -> str:
    total = hashlib.sha256()
    for name, tensor in [*model.state_dict().items(), *((n, p.grad) for n, p in model.named_parameters())]:
        total.update(name.encode())
        total.update(tensor.detach().numpy().tobytes())
    total.update(torch.get_rng_state().numpy().tobytes())
    return total.hexdigest()


def main(mode: str, entry_path: str, steps: int, agent: str) -> str:
    torch.set_num_threads(1)  # sums over threads are not reproducible in themselves
    recorder: Any = None
    if mode == "recorded":
        recorder = Recorder(interpreter.load_agent(agent), str(Path(entry_path).parent))
        assert recorder.track_memory()
        recorder.stage(Stage.MODEL)
    entry = load(entry_path, str(Path(entry_path).parent))
    model = entry.model_provider()
    if recorder:
        recorder.set_models((model,), {})
    step = entry.iteration_provider(model)
    inputs = entry.input_provider()
    if recorder:
        recorder.record(step, inputs, steps - 2)
        recorder.count(step, inputs, [])
        recorder.finish()
        recorder.detach()
        step(*inputs)
    else:
        for _ in range(steps):
            step(*inputs)
    return digest(model)


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
