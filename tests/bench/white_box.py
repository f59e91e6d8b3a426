"""Times on this processor from shapes alone: `./dev bench white-box --data FOLDER [--seed N] [--figures FILE]`.

Of Roller's operators (OSDI 2022) some are drawn, of those that `ridgeline kernel` constructs programs for and that are
no larger than what follows. The white-box model is that of the programs' tiles: the time that is predicted for the best
program. It is compared with torch's time and with the fastest of torch and that program, beside the plain roofline of
what `ridgeline machine measure` measured.
"""

from __future__ import annotations

import csv
import json
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from roofline import KINDS, TRUTH, rank_correlation

OPERATORS = 40
MOST_ELEMENTS = 1 << 26  # of a tensor
MOST_FLOPS = 6e10
SECONDS = 0.05  # of timing each program, and 5 runs at least


def operation_of(operator: str, shape: str) -> str | None:
    """As `ridgeline kernel` reads it; None where there are no programs for it."""
    parts = shape.split("_")
    if operator[0] == "M":
        m, n, k = map(int, parts)
        return f"matmul {m} {n} {k}"
    if operator[0] == "C":
        images, channels, height, width, outputs, kernel, other, stride, dilation = map(int, parts[:9])
        padding = (kernel - 1) // 2 if parts[9] == "SAME" else 0
        if kernel != other or dilation != 1:
            return None
        return f"conv {images} {channels} {height} {width} {outputs} {kernel} stride {stride} padding {padding}"
    sizes = list(map(int, parts)) if operator[0] in "ER" else []
    if operator[0] == "E":
        return f"elementwise {math.prod(sizes[:-1])} {sizes[-1]} = relu(x)"
    if operator[0] == "R":
        rows, columns = (sizes[:2], sizes[2:]) if len(sizes) == 4 else (sizes[:-1], sizes[-1:])
        return f"reduce mean {math.prod(rows)} {math.prod(columns)} dim 1"
    return None


def flops_and_elements(operation: str) -> tuple[float, list[int]]:
    """Floating-point operations, and the elements of each tensor."""
    words = operation.split()
    if words[0] == "matmul":
        m, n, k = map(int, words[1:4])
        return 2.0 * m * n * k, [m * k, k * n, m * n]
    if words[0] == "conv":
        images, channels, height, width, outputs, kernel = map(int, words[1:7])
        stride, padding = int(words[8]), int(words[10])
        places = math.prod((size + 2 * padding - kernel) // stride + 1 for size in (height, width))
        weights = outputs * channels * kernel * kernel
        return 2.0 * images * places * weights, [images * channels * height * width, weights, images * outputs * places]
    at = 1 if words[0] == "elementwise" else 2
    rows, columns = int(words[at]), int(words[at + 1])
    return float(rows * columns), [rows * columns, rows * columns if words[0] == "elementwise" else rows]


def drawn(rows: list[list[str]], seed: int) -> list[tuple[str, str]]:
    """Operators of the table, each with its operation, in the table's order."""
    possible = []
    for row in rows:
        operation = operation_of(row[0], row[1])
        if operation is not None:
            flops, elements = flops_and_elements(operation)
            if flops <= MOST_FLOPS and max(elements) <= MOST_ELEMENTS:
                possible.append((row[0], operation))
    chosen = set(random.Random(seed).sample(range(len(possible)), min(OPERATORS, len(possible))))
    return [one for i, one in enumerate(possible) if i in chosen]


def plain_roofline_ns(operation: str, device: dict[str, Any], threads: int) -> float:
    """All bytes from the memory, each tensor once, or all FLOPs at the peak of float32: what takes longer."""
    flops, elements = flops_and_elements(operation)

    def rate(rates: dict[str, Any]) -> float:
        return rates["oneUnit" if threads == 1 else "all"]["value"]

    (peak,) = [one for one in device["peaks"] if one["dtype"] == "float32"]
    memory = device["levels"][-1]
    return max(flops / rate(peak["flopPerS"]), 4 * sum(elements) / rate(memory["bytesPerS"])) * 1e9


def measured(binary: Path, operation: str, threads: int) -> dict[str, float]:
    """Nanoseconds: predicted of the best program, of this program, of torch."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [binary, "kernel", operation, "--threads", threads, "--top", 1, "--seconds", SECONDS]
        command += ["--python", sys.executable, "--format", "json", "--output", answer]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        found = json.loads(answer.read_text("utf-8"))
    (program,) = found["programs"]
    return {"predicted": program["predictedNs"], "own": program["measuredNs"], "torch": found["libraryNs"]}


def summary(found: list[dict[str, Any]]) -> list[str]:
    """Median errors and rank correlations of both models, against torch and against the fastest."""
    cells = []
    for truth in ([one["torch"] for one in found], [min(one["torch"], one["own"]) for one in found]):
        for model in ("roofline", "predicted"):
            guessed = [one[model] for one in found]
            errors = [abs(a / b - 1) for a, b in zip(guessed, truth, strict=True)]
            correlation = f"{rank_correlation(guessed, truth):.2f}" if len(found) > 2 else "–"
            cells.append(f"{median(errors):.0%}, {correlation}")
    return cells


def print_results(found: list[dict[str, Any]], table: Callable[..., None]) -> None:
    lines = []
    for kind, name in [*KINDS.items(), ("", "all")]:
        chosen = [one for one in found if one["operator"].startswith(kind)]
        if chosen:
            lines.append([name, str(len(chosen)), *summary(chosen)])
    heads = [f"{model}, {truth}" for truth in ("torch", "the fastest") for model in ("roofline", "white box")]
    table(["median error, rank correlation", "operators", *heads], lines)
    ratios = sorted(one["own"] / one["torch"] for one in found)
    print(f"The best predicted program over torch: median {median(ratios):.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}.\n")


def run(
    binary: Path, table: Callable[..., None], data: Path | None, seed: int, threads: int, figures: Path | None
) -> None:
    """`figures`: a file that keeps what was measured, so that a run can be taken up again."""
    print(f"### Times from shapes alone, this processor, {threads} threads\n")
    if data is None or not (data / TRUTH).exists():
        print(f"Skipped: give --data FOLDER with {TRUTH}.\n")
        return
    device = json.loads(
        subprocess.run([binary, "machine", "show", "--format", "json"], check=True, capture_output=True).stdout
    )
    kept = figures.read_text("utf-8").splitlines() if figures and figures.exists() else []
    known = {one["operation"]: one for one in map(json.loads, kept)}
    found = []
    for operator, operation in drawn(list(csv.reader((data / TRUTH).read_text().splitlines()))[1:], seed):
        if operation not in known:
            known[operation] = {"operation": operation, **measured(binary, operation, threads)}
            if figures:
                with figures.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(known[operation]) + "\n")
        roofline_ns = plain_roofline_ns(operation, device, threads)
        found.append({**known[operation], "operator": operator, "roofline": roofline_ns})
    print_results(found, table)
