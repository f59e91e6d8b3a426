"""Traces of torch.profiler of examples' steps on a GPU, before and after a change: what `ridgeline report` reads and
`ridgeline what-if TRACE` predicts from.

`python tests/gpu/traces.py` writes $OUT/traces/EXAMPLE-CHANGE.json.gz, and times.json: milliseconds of an iteration
without the profiler, the median and the tenth and ninetieth percentile, and torch's peak in bytes.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import torch
from example_steps import Step, times_of

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(os.environ["OUT"]) / "traces"
SIZES = {"resnet50": 32, "gpt": 8, "bert": 16}
CHANGES = ("none", "bf16-autocast", "channels-last", "unfused", "foreach")


def step_of(example: str, change: str) -> Step | None:
    """Nothing where the change does not change the example."""
    folder = ROOT / "examples" / example
    text = (folder / "entry.py").read_text()
    if change in ("unfused", "foreach"):
        text, count = re.subn(r"fused=True", f"foreach={change == 'foreach'}", text)
        if not count:
            return None
    if change == "channels-last" and example != "resnet50":
        return None
    sys.path.insert(0, str(folder))
    entry: dict[str, Any] = {"__name__": "entry", "__file__": str(folder / "entry.py")}
    exec(compile(text, str(folder / "entry.py"), "exec"), entry)
    model = entry["model_provider"]()
    inputs = entry["input_provider"](batch_size=SIZES[example])
    if change == "channels-last":
        model = model.to(memory_format=torch.channels_last)
        inputs = tuple(t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for t in inputs)
    iteration = entry["iteration_provider"](model)

    def step() -> None:
        autocast = torch.autocast("cuda", dtype=torch.bfloat16)
        with autocast if change == "bf16-autocast" else contextlib.nullcontext():
            iteration(*inputs)

    return step


def record(step: Step, file: Path) -> None:
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    schedule = torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1)
    with torch.profiler.profile(
        activities=activities, schedule=schedule, record_shapes=True, profile_memory=True, with_stack=True
    ) as profiler:
        for _ in range(6):
            step()
            torch.cuda.synchronize()
            profiler.step()
    profiler.export_chrome_trace(str(file))


def main() -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    found = {}
    for example in SIZES:
        for change in CHANGES:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            held = torch.cuda.memory_allocated()
            step = step_of(example, change)
            if step is None:
                continue
            name = f"{example}-{change}"
            found[name] = times_of(step, 50) | {"peakBytes": torch.cuda.max_memory_allocated() - held}
            record(step, OUT / f"{name}.json.gz")
            del step
            for module in [name for name in sys.modules if name in SIZES or name in ("resnet", "entry")]:
                del sys.modules[module]
            importlib.invalidate_caches()
            sys.path.pop(0)
    (OUT / "times.json").write_text(json.dumps(found, indent=1))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
