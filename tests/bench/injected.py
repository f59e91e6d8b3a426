"""Known times and allocations, injected into a training script, and what its lines get: `./dev bench injected`.

A seed draws which place gets how much, and whether it computes or sleeps; each place gets each size once. The script
measures what it really injected.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIZES_MS = (0.5, 1.0, 2.0, 5.0, 20.0, 50.0)
LEAST_MS, WANTED = 1.0, 0.03  # from here on a line's time is to be within this part of the truth
BYTES = tuple(1 << power for power in range(16, 23))
RECORDED = 20
STEPS = 4000  # of the script, which is stopped
SINGLE = {**os.environ, "OMP_NUM_THREADS": "1"}

SCRIPT = """
import atexit
import json
import statistics
import sys
import threading
from time import perf_counter as clock
from time import sleep

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

spent, kept = {}, []


@atexit.register
def write_truth():
    with open(sys.argv[1], "w") as file:
        json.dump({place: statistics.median(times) for place, times in spent.items()}, file)


def note(place, began, _, ended):
    spent.setdefault(place, []).append(ended - began)


class Data(Dataset):
    def __len__(self):
        return 32 * STEPS

    def __getitem__(self, index):
        if index % 32 == 0:
            INJECT(loader)
        return torch.randn(64)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        INJECT(autograd_function_forward)
        return x * 2

    @staticmethod
    def backward(context, gradient):
        INJECT(autograd_function_backward)
        return gradient * 2


def shared(x):
    INJECT(called_from_two_lines)
    return x.tanh()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 64)
        self.last = nn.Linear(64, 8)

    def forward(self, x):
        x = shared(self.first(x))
        INJECT(forward)
        x = shared(self.second(x))
        x = Twice.apply(x)
        x.register_hook(of_tensor)
        return self.last(x)


def of_tensor(gradient):
    INJECT(tensor_hook)


def of_forward(module, arguments, output):
    INJECT(forward_hook)


def of_backward(module, inputs, outputs):
    INJECT(full_backward_hook)


def of_parameter(parameter):
    INJECT(post_accumulate_grad_hook)


class Optimizer(torch.optim.SGD):
    def step(self, closure=None):
        INJECT(optimizer)
        return super().step(closure)


def background():
    until = clock() + WAITED
    while clock() < until:
        sleep(0.001)


model = Net()
model.first.register_forward_hook(of_forward)
model.second.register_full_backward_hook(of_backward)
model.last.weight.register_post_accumulate_grad_hook(of_parameter)
optimizer = Optimizer(model.parameters(), lr=0.01)
for batch in DataLoader(Data(), batch_size=32):
    worker = threading.Thread(target=background)
    worker.start()
    note("thread", clock(), worker.join(), clock())  # thread
    kept.append(torch.empty(THREAD_BYTES, dtype=torch.uint8))  # allocates thread
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    INJECT(between_steps)
    optimizer.step()
    kept.clear()
"""
PLACES = [*re.findall(r"INJECT\((\w+)\)", SCRIPT), "thread"]
CALLS = {"called_from_two_lines": 2}  # in a step


@dataclass(frozen=True)
class Injected:
    ms: float
    sleeps: bool
    size: int  # bytes


def script_of(drawn: dict[str, Injected]) -> str:
    def replace(match: re.Match[str]) -> str:
        indent, place = match.groups()
        one = drawn[place]
        wait = (
            [f'note("{place}", clock(), sleep({one.ms / 1e3!r}), clock())  # {place}']
            if one.sleeps
            else [
                "began = clock()",
                f"while clock() < began + {one.ms / 1e3!r}: pass  # {place}",
                f'note("{place}", began, None, clock())',
            ]
        )
        return "".join(f"{indent}{line}\n" for line in [*wait, *_allocate(place, one.size)])

    text = re.sub(r"( +)INJECT\((\w+)\)\n", replace, SCRIPT)
    thread = drawn["thread"]
    return (
        text.replace("WAITED", repr(thread.ms / 1e3))
        .replace("THREAD_BYTES", str(thread.size))
        .replace("STEPS", str(STEPS))
    )


def _allocate(place: str, size: int) -> list[str]:
    return [f"kept.append(torch.empty({size}, dtype=torch.uint8))  # allocates {place}"]


def draws(seed: int, rounds: int) -> list[dict[str, Injected]]:
    """A draw for each round; in as many rounds as there are sizes, each place gets each size once."""
    source = random.Random(seed)
    offsets = {place: source.randrange(len(SIZES_MS)) for place in PLACES}
    return [
        {
            place: Injected(
                SIZES_MS[(offset + number) % len(SIZES_MS)], source.random() < 0.5, source.choice(BYTES) + 64
            )
            for place, offset in offsets.items()
        }
        for number in range(rounds)
    ]


def measured(binary: Path, drawn: dict[str, Injected]) -> tuple[dict[str, Any], dict[str, float]]:
    """The report, and by place the seconds of one call, as the script measured them: the median."""
    with tempfile.TemporaryDirectory() as folder:
        script, truth, report = (Path(folder) / name for name in ("train.py", "truth.json", "report.json"))
        script.write_text(script_of(drawn))
        own = (
            "--python",
            sys.executable,
            "--stop",
            "--steps",
            RECORDED,
            "--seconds",
            "1",
            "--format",
            "json",
            "--output",
            report,
        )
        command = [binary, "profile", *own, script, truth]
        subprocess.run([str(part) for part in command], check=True, capture_output=True, env=SINGLE)
        return json.loads(report.read_text()), json.loads(truth.read_text())


def line_of(report: dict[str, Any], comment: str) -> dict[str, Any] | None:
    return next((line for line in report["lines"] if line.get("text", "").endswith(f"# {comment}")), None)


def error_of(reported: float, truth: float) -> float:
    return reported / truth - 1


def run(binary: Path, table: Any, seed: int, rounds: int) -> None:
    errors: dict[str, dict[float, float]] = {place: {} for place in PLACES}
    memory: dict[str, list[tuple[int, int]]] = {place: [] for place in PLACES}
    for drawn in draws(seed, rounds):
        report, truth = measured(binary, drawn)
        for place, one in drawn.items():
            calls = CALLS.get(place, 1)
            line, allocating = line_of(report, place), line_of(report, f"allocates {place}")
            true_ms = calls * 1e3 * truth[place]
            errors[place][one.ms] = error_of(line["timeMs"]["self"] if line else 0, true_ms)
            at_peak = allocating["memoryBytes"]["atPeak"] if allocating else 0
            memory[place].append((calls * one.size, at_peak))
    print(f"Seed {seed}. Error of the self time of each line, in a step of all places:\n")
    rows = [
        [place.replace("_", " "), *(f"{found[ms]:+.1%}" if ms in found else "" for ms in SIZES_MS)]
        for place, found in errors.items()
    ]
    table(["place", *(f"{ms:g} ms" for ms in SIZES_MS)], rows)
    judged = sorted(abs(one) for found in errors.values() for ms, one in found.items() if ms >= LEAST_MS)
    within = sum(1 for one in judged if one <= WANTED)
    print(
        f"{within} of {len(judged)} from {LEAST_MS:g} ms up within {WANTED:.0%}; "
        f"median {judged[len(judged) // 2]:.1%}, worst {judged[-1]:.1%}.\n"
    )
    exact = sum(1 for found in memory.values() for size, at_peak in found if size == at_peak)
    count = sum(map(len, memory.values()))
    wrong = [
        f"{place}: {at_peak:,} of {size:,}"
        for place, found in memory.items()
        for size, at_peak in found
        if size != at_peak
    ]
    print(f"{exact} of {count} allocations to the byte{': ' if wrong else '.'}{'; '.join(wrong)}\n", flush=True)
