"""`./dev bench plain-loops`: the step that a report states against a loop of one's own, at each batch size sampled.

The loop is what a user would write: a process that loads the entry file, takes inputs of one batch size and times
iterations. Those of the user's batch size run before and after the profile, so that a machine that slows down shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("resnet50", "densenet121", "vgg11", "inception", "bert", "gpt", "deepspeech", "dcgan", "transformer", "mlp")
HEAD = ["example", "batch size", "report, ms", "interval", "loop, ms", "of its processes", "report / loop", "inside"]
_LEAST, _MOST, _SECONDS = 4, 30, 1.0

_LOOP = """
import sys, time
sys.path.insert(0, ".")
import entry
batch_size, least, most, seconds = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
models = entry.model_provider()
step = entry.iteration_provider(**models) if isinstance(models, dict) else (
    entry.iteration_provider(*models) if isinstance(models, (tuple, list)) else entry.iteration_provider(models))
inputs = entry.input_provider(batch_size=batch_size)
times = []
end = None
while len(times) < least + 3 or (len(times) < most + 3 and time.perf_counter() < end):
    start = time.perf_counter()
    step(*inputs)
    times.append(time.perf_counter() - start)
    if len(times) == 3:
        end = time.perf_counter() + seconds
print(sorted(times[3:])[len(times[3:]) // 2])
"""


def rows(binary: Path, rounds: int, examples: tuple[str, ...] = EXAMPLES) -> list[list[str]]:
    """`rounds`: processes of each loop after the profile and, for the user's batch size, before it."""
    return [row for name in examples for row in _of_example(binary, rounds, name)]


def _of_example(binary: Path, rounds: int, name: str) -> list[list[str]]:
    chosen = _chosen(name)
    before = _loops(name, chosen, rounds)
    report = _profile(binary, name)
    found = []
    for sample in report["models"]["time"]["samples"]:
        size, stated = sample["batchSize"], sample["timeMs"]
        loops = (before if size == chosen else []) + _loops(name, size, rounds)
        loop = median(loops)
        found.append(
            [
                name,
                f"{size}{' (chosen)' if size == chosen else ''}",
                f"{stated:.4g}",
                f"{sample['lowMs']:.4g} – {sample['highMs']:.4g}",
                f"{loop:.4g}",
                f"{min(loops):.4g} – {max(loops):.4g}",
                f"{stated / loop:.3f}",
                "yes" if sample["lowMs"] <= max(loops) and min(loops) <= sample["highMs"] else "no",
            ]
        )
    return found


def _chosen(name: str) -> int:
    script = "import entry, inspect; print(inspect.signature(entry.input_provider).parameters['batch_size'].default)"
    return int(_run(name, script))


def _run(name: str, script: str, *arguments: str) -> str:
    """The last line that the script printed, run in the folder of an example."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT / "examples" / name,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def _loops(name: str, batch_size: int, count: int) -> list[float]:
    """Milliseconds of an iteration, of so many processes."""
    arguments = [str(value) for value in (batch_size, _LEAST, _MOST, _SECONDS)]
    return [1e3 * float(_run(name, _LOOP, *arguments)) for _ in range(count)]


def _profile(binary: Path, name: str) -> dict[str, Any]:
    command = [binary, "profile", ROOT / "examples" / name / "entry.py", "--format", "json", "--python", sys.executable]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)
