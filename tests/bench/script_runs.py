"""Training scripts under `ridgeline profile`, compared with the same scripts alone: `./dev bench scripts`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from accuracy import MODELS_PYTHON

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "scripts"
ROOT = HERE.parents[1]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
PYTHON = str(MODELS_PYTHON)
STEPS = 80
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # as most have it: what is imported again was compiled before


@dataclass(frozen=True)
class Case:
    """A script of tests/bench/scripts."""

    name: str
    parts: int = 1  # optimizer steps of a training step
    ranks: int = 1


CASES = [
    Case("mnist"),
    Case("word_language_model"),
    Case("gan", parts=3),
    Case("accumulation"),
    Case("hf_trainer"),
    Case("accelerate_loop"),
    Case("lightning_loop"),
    Case("ddp", ranks=2),
]


def output_of(*command: str | Path) -> str:
    """The output of a command that succeeds."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, cwd=SCRIPTS, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else "none"


def command_of(case: Case) -> list[str]:
    script = [str(SCRIPTS / f"{case.name}.py"), str(STEPS)]
    if case.ranks == 1:
        return [PYTHON, *script]
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(case.ranks), *script]


def run(command: list[str], *options: str) -> tuple[str, list[dict[str, Any]]]:
    """What the command printed under `ridgeline profile`, and the reports of its ranks."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        printed = output_of(BINARY, "profile", *options, "--format", "json", "--output", file, "--", *command)
        return printed, [json.loads(path.read_text()) for path in sorted(Path(folder).iterdir())]


def closure(report: dict[str, Any]) -> float:
    """What lines and other items add up to, as a part of the step."""
    parts = sum(line["timeMs"]["self"] for line in report["lines"]) + sum(one["timeMs"] for one in report["other"])
    return parts / report["iteration"]["timeMs"]


def closes_to_the_byte(report: dict[str, Any]) -> bool:
    memory = report["memory"]
    lines = sum(one["memoryBytes"]["atPeak"] for one in report["lines"]) + sum(
        one["peakBytes"] for one in report["other"]
    )
    return memory["peakBytes"] == sum(memory["byCategory"].values()) == lines


def figures(case: Case) -> list[str]:
    """One row of the table."""
    command = command_of(case)
    alone = found(r"digest (\w+)", output_of(*command))
    printed, reports = run(command, "--seconds", "2")
    first = reports[0]
    observed = "not observed"
    if case.ranks == 1:
        script = [str(SCRIPTS / f"{case.name}.py"), str(STEPS)]
        observed = found(r"peak (\d+)", output_of(PYTHON, HERE / "observe_script_peak.py", str(case.parts), *script))
    return [
        case.name,
        str(len(reports)),
        str(first["entry"]["batchSize"]),
        " ".join(map(str, first["script"]["step"]["optimizers"])),
        ", ".join(f"{100 * closure(report):.3f} %" for report in reports),
        "yes" if all(map(closes_to_the_byte, reports)) else "NO",
        f"{first['memory']['peakBytes']:,}",
        f"{int(observed):,}" if observed.isdecimal() else observed,
        "yes" if found(r"digest (\w+)", printed) == alone else "NO",
    ]


def same_as_entry_point() -> list[list[str]]:
    """mnist as a script and as an entry point, in turns."""
    _, (script,) = run([PYTHON, str(SCRIPTS / "mnist.py"), "1000000"], "--stop", "--seconds", "5")
    options = ("--batch-sizes", "16", "--seconds", "5", "--format", "json", "--python", PYTHON)
    entry = json.loads(output_of(BINARY, "profile", SCRIPTS / "mnist_entry.py", *options))
    rows = [["step, ms", *(f"{one['iteration']['timeMs']:.2f}" for one in (script, entry))]]
    rows.append(["peak, bytes", *(f"{one['memory']['peakBytes']:,}" for one in (script, entry))])
    for category in ("weights", "gradients", "optimizerState", "activations", "inputs", "temporaries"):
        rows.append([category, *(f"{one['memory']['byCategory'][category]:,}" for one in (script, entry))])
    for number in (21, 22, 25):  # of mnist_model.py
        rows.append([f"line {number}, share", *(f"{100 * share_of(one, number):.1f} %" for one in (script, entry))])
    return rows


def share_of(report: dict[str, Any], number: int) -> float:
    """The share of the step in a line of mnist_model.py."""
    lines = (line for line in report["lines"] if line["file"].endswith("mnist_model.py") and line["line"] == number)
    return sum(line["timeMs"]["self"] for line in lines) / report["iteration"]["timeMs"]


LOOP = """
import time, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters())
data = torch.utils.data.TensorDataset(torch.randn(64000, 64), torch.randint(0, 10, (64000,)))
times = []
for epoch in range(4):
    for x, y in torch.utils.data.DataLoader(data, batch_size=32):
        began = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append(time.perf_counter() - began)
times = sorted(times[-4000:])
print("median", 1e6 * times[len(times) // 2])
"""


def overhead(rounds: int) -> list[list[str]]:
    """The last 4,000 of 8,000 steps, long after the recording; and the start of a process. Against the script alone
    and, for the noise, of the script against itself."""
    under = [str(BINARY), "profile", "--seconds", "0.5", "--output", os.devnull, "--"]
    rows = []
    for title, code, seconds in (
        ("a step outside the recording", LOOP, False),
        ("the start of Python", "pass", True),
        ("the start of Python with torch", "import torch", True),
    ):
        ratios, again, added, noise = [], [], [], []
        for _ in range(rounds):
            values = []
            for prefix in ([], under, []):
                began = time.perf_counter()
                printed = subprocess.run(
                    [*prefix, PYTHON, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True
                ).stdout
                values.append(time.perf_counter() - began if seconds else float(found(r"median ([\d.]+)", printed)))
            ratios.append(values[1] / values[0])
            again.append(values[2] / values[0])
            added.append(1e3 * (values[1] - values[0]))
            noise.append(1e3 * (values[2] - values[0]))
        rows.append(
            [
                title,
                f"{median(added):.0f} ms" if seconds else f"{median(ratios):.3f}",
                f"{median(noise):.0f} ms" if seconds else f"{median(again):.3f}",
            ]
        )
    return rows
