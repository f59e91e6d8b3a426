"""`./dev bench compiled`: compiled steps line by line, beside the same steps without the compiler.

Each model has one operation a line, so that without the compiler each line's time is that of its operation. And what
knowing the lines adds to the time that torch.compile takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from shared import ROOT, profile_json, table

MODELS = ("Gpt", "ResNet", "Lstm")
HEAD = ["model", "line", "eager, ms", "compiled, ms"]
STEPS_HEAD = ["model", "eager, ms", "compiled, ms", "sum of lines / step", "of compiled time on the model's lines, %"]
COMPILE_HEAD = ["model", "compilation, s", "with bookkeeping, s", "ratio", "A/A"]
_LEAST = 0.01  # of the eager step: lines that are shown

_ENTRY = """
import torch

from line_by_line import {name}


def model_provider():
    return {wrapped}


def input_provider(batch_size={size}):
    return ({name}.inputs(),)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def iteration(x):
        out = model(x)
        out.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return iteration
"""
_SIZES = {"Gpt": 8, "ResNet": 32, "Lstm": 32}

_COMPILE = """
import sys, time
sys.path[:0] = [{models!r}, {runner!r}]
import torch, line_by_line
if sys.argv[1] == "watch":
    from ridgeline_runner.step.compiled_code import CompiledCode
    CompiledCode(lambda address, kind: (kind.__qualname__, "", "", 0)).watch()
kind = getattr(line_by_line, sys.argv[2])
model, inputs = kind(), kind.inputs()
start = time.perf_counter()
torch.compile(model)(inputs).square().mean().backward()
print(time.perf_counter() - start)
"""


def run(rounds: int) -> None:
    lines: list[list[str]] = []
    steps: list[list[str]] = []
    for name in MODELS:
        _compare(name, lines, steps)
    table(HEAD, lines)
    table(STEPS_HEAD, steps)
    table(COMPILE_HEAD, [_compile_times(name, rounds) for name in MODELS])


def _report(folder: Path, name: str, wrapped: str) -> Any:
    (folder / "line_by_line.py").write_text((ROOT / "tests/bench/models/line_by_line.py").read_text())
    (folder / "entry.py").write_text(_ENTRY.format(name=name, wrapped=wrapped, size=_SIZES[name]))
    return profile_json(folder / "entry.py", "--batch-sizes", str(_SIZES[name]), "--seconds", "2")


def _own(report: Any) -> dict[int, tuple[float, str]]:
    lines = [line for line in report["lines"] if line["file"] == "line_by_line.py"]
    return {line["line"]: (line["timeMs"]["self"], line["text"]) for line in lines}


def _compare(name: str, lines: list[list[str]], steps: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        eager = _report(Path(folder), name, f"{name}()")
        compiled = _report(Path(folder), name, f"torch.compile({name}())")
    bare, fused = _own(eager), _own(compiled)
    step = eager["iteration"]["timeMs"]
    for place in sorted(bare | fused, key=lambda one: -bare.get(one, (0.0, ""))[0]):
        of_each = [one.get(place, (0.0, ""))[0] for one in (bare, fused)]
        if max(of_each) >= _LEAST * step:
            text = (bare.get(place) or fused[place])[1]
            lines.append([name, f"`{text[:60]}`", *(f"{ms:.2f}" for ms in of_each)])
    (call,) = [line for line in compiled["lines"] if line["text"].startswith("out = model")]
    whole = sum(line["timeMs"]["self"] for line in compiled["lines"]) + sum(o["timeMs"] for o in compiled["other"])
    on_lines = sum(ms for ms, _ in fused.values()) / call["timeMs"]["total"]
    time = compiled["iteration"]["timeMs"]
    steps.append([name, f"{step:.1f}", f"{time:.1f}", f"{whole / time:.6f}", f"{100 * on_lines:.1f}"])


def _compile_times(name: str, rounds: int) -> list[str]:
    """In turns, with compiled files on the disk but no graphs from there, as a recording has it."""
    times: dict[str, list[float]] = {"plain": [], "watch": []}
    script = _COMPILE.format(models=str(ROOT / "tests/bench/models"), runner=str(ROOT / "profiler/runner"))
    environment = os.environ | {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
    for round_number in range(-1, rounds):  # the first fills the compiler's files
        for kind in times:
            done = subprocess.run(
                [sys.executable, "-c", script, kind, name], env=environment, capture_output=True, text=True, check=True
            )
            if round_number >= 0:
                times[kind].append(float(done.stdout.splitlines()[-1]))
    plain, watched = median(times["plain"]), median(times["watch"])
    halves = median(times["plain"][::2]) / median(times["plain"][1::2])
    return [name, f"{plain:.2f}", f"{watched:.2f}", f"{watched / plain:.3f}", f"{halves:.3f}"]
