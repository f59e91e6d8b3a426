"""What fits on a GPU: reserved bytes that are predicted against those of processes that run the same steps.

`python tests/gpu/fits.py` prints what passed and what failed, and leaves the answers under $OUT. With `--measure ENTRY
BATCH_SIZE CHANGE...` it is the process that runs a changed step a few times and prints what torch reserved for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "profiler" / "runner"), str(ROOT / "tests" / "integration")]

from checks import show  # noqa: E402
from example_entries import entry_with  # noqa: E402

BINARY = ROOT / "build" / "bin" / "ridgeline"
OUT = Path(os.environ["OUT"])
EXAMPLES = {"gpt": (8, 64), "resnet50": (16, 64)}  # the batch size that is profiled, and one to make fit
CHANGES_OF_SCRIPT = ("checkpoint", "bf16-autocast", "fused-optimizer")
SCRIPT = """import entry

model = entry.model_provider()
step = entry.iteration_provider(model)
for _ in range(5000):
    step(*entry.input_provider())
"""
TOLERANCE = 0.01
STEPS = 4


def measure(entry: str, batch_size: int, *changes: str) -> None:
    import torch
    from ridgeline_runner.changes import built_in
    from ridgeline_runner.step.entry import load_entry_point

    folder = str(Path(entry).parent)
    point = load_entry_point({"entry": entry, "projectRoot": folder})
    parts = built_in.build(point, list(changes), batch_size)
    with parts.surroundings():
        for _ in range(STEPS):
            parts.function(*parts.inputs)
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({"reserved": torch.cuda.max_memory_reserved(), "held": total - free}))


def measured(entry: Path, batch_size: int, changes: list[str]) -> dict[str, int]:
    command = [sys.executable, __file__, "--measure", str(entry), str(batch_size), *changes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def answer(name: str, *arguments: object) -> dict[str, Any]:
    command = [str(BINARY), *map(str, arguments), "--python", sys.executable, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    (OUT / f"fits_{name}.json").write_text(done.stdout or done.stderr)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return json.loads(done.stdout)


def checks_of(example: str, folder: Path) -> dict[str, bool]:
    checks: dict[str, bool] = {}
    profiled, larger = EXAMPLES[example]
    entry = entry_with(example, profiled, folder)
    alone = measured(entry, larger, [])
    limit = int(0.8 * alone["reserved"])
    fit = answer(f"make_{example}", "predict", entry, "--make-fit", larger, "--memory", f"{limit >> 20}MiB")
    for row in fit["changes"]:
        if row["applies"] and (row["fits"] or not row["change"]):
            real = measured(entry, larger, row["change"])["reserved"]
            error = row["reservedBytes"] / real - 1
            checks[f"{example}: {'+'.join(row['change']) or 'alone'} reserves as predicted ({error:+.2%})"] = (
                abs(error) <= TOLERANCE
            )
            if row["fits"]:
                checks[f"{example}: {'+'.join(row['change'])} fits"] = real <= limit
    here = answer(f"devices_{example}", "devices", entry, "--on", "h200", "--device", "cpu")["devices"][0]["steps"][0]
    held = measured(entry, profiled, [])["held"]
    low, high = here["heldBytes"]["low"], here["heldBytes"]["high"]
    checks[f"{example}: the process holds {held >> 20} MiB, {low >> 20} to {high >> 20} by the CPU"] = (
        low <= held <= high
    )
    return checks


def checks_of_script(example: str, folder: Path) -> dict[str, bool]:
    """What changed steps of a script reserve: listed on the GPU, between its own steps."""
    profiled, _ = EXAMPLES[example]
    entry = entry_with(example, profiled, folder)
    script = entry.with_name("train.py")
    script.write_text(SCRIPT)
    memory = f"{4 * measured(entry, profiled, [])['reserved'] >> 20}MiB"
    changes = [word for change in CHANGES_OF_SCRIPT for word in ("--change", change)]
    options = ("--search", "--memory", memory, "--seconds", "2", "--measure-seconds", "5", "--try-seconds", "1")
    found = answer(f"script_{example}", "what-if", script, *changes, *options)
    checks: dict[str, bool] = {}
    for row in found["changes"]:
        name = f"{example} as a script: {'+'.join(row['change'])}"
        predicted = (row["predicted"] or {}).get("reservedBytes")
        checks[f"{name} has a prediction"] = predicted is not None
        if predicted is not None:
            error = predicted / measured(entry, profiled, row["change"])["reserved"] - 1
            checks[f"{name} reserves as predicted ({error:+.2%})"] = abs(error) <= TOLERANCE
    return checks


def main() -> int:
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
        return 0
    checks: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, checks_in in (("entry", checks_of), ("script", checks_of_script)):
            for example in EXAMPLES:
                try:
                    checks |= checks_in(example, Path(folder) / name)
                except (RuntimeError, subprocess.SubprocessError) as problem:
                    print(problem, flush=True)
                    checks[f"{example}: the {name} is answered"] = False
    return show(checks)


if __name__ == "__main__":
    sys.exit(main())
