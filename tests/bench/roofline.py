"""Times of the operators that Roller was judged on (OSDI 2022; 119 on a V100), predicted from their shapes alone."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

TRUTH = Path("tables/Roller/ops119_v100.csv")
DEVICE = "V100-PCIE"  # of the virtual machine that the operators ran on, Azure's NC24s v3
KINDS = {
    "M": "matrix products",
    "C": "convolutions",
    "D": "depthwise",
    "E": "elementwise",
    "P": "pooling",
    "R": "means",
}


def tensor(*sizes: int) -> str:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return f"t:float32:{','.join(map(str, sizes))}:{','.join(map(str, strides))}"


def _convolution(batch: int, channels: int, height: int, width: int, out: int, shape: list[str], groups: int) -> list:
    kernel, other, stride, dilation, same = (
        int(shape[0]),
        int(shape[1]),
        int(shape[2]),
        int(shape[3]),
        shape[4] == "SAME",
    )
    padding = [(kernel - 1) * dilation // 2, (other - 1) * dilation // 2] if same else [0, 0]
    tensors = [tensor(batch, channels, height, width), tensor(out, channels // groups, kernel, other), None]
    return [*tensors, [stride, stride], padding, [dilation, dilation], False, [0, 0], groups]


def key_of(operator: str, shape: str) -> str:
    """The key of the operation, as the runner writes it. `shape`: as the table's head says; matrices are M_N_K."""
    parts = shape.split("_")
    if operator[0] == "M":
        m, n, k = map(int, parts)
        return json.dumps(["aten::mm.default", [tensor(m, k), tensor(k, n)], {}])
    if operator[0] == "C":
        n, c, h, w, f = map(int, parts[:5])
        return json.dumps(["aten::convolution.default", _convolution(n, c, h, w, f, parts[5:], 1), {}])
    if operator[0] == "D":
        n, c, h, w, k = map(int, parts[:5])
        arguments = _convolution(n, c, h, w, c, [str(k), str(k), *parts[5:]], c)
        return json.dumps(["aten::convolution.default", arguments, {}])
    if operator[0] == "P":
        n, c, h, w, kernel, stride = map(int, parts[1:7])
        padding = (kernel - 1) // 2 if parts[7] == "SAME" else 0
        arguments = [tensor(n, c, h, w), [kernel] * 2, [stride] * 2, [padding] * 2]
        return json.dumps([f"aten::{parts[0]}_pool2d.default", arguments, {}])
    name = "aten::relu.default" if operator[0] == "E" else "aten::mean.dim"
    return json.dumps([name, [tensor(*map(int, parts))], {}])


def ranks(values: list[float]) -> list[float]:
    """From 0; equal values share the middle of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def rank_correlation(a: list[float], b: list[float]) -> float:
    """Spearman's."""
    x, y = ranks(a), ranks(b)
    middle = (len(a) - 1) / 2
    both = sum((p - middle) * (q - middle) for p, q in zip(x, y, strict=True))
    return both / (sum((p - middle) ** 2 for p in x) * sum((q - middle) ** 2 for q in y)) ** 0.5


def run(data: Path | None, probe: Path, table: Callable[[list[str], list[list[str]]], None]) -> None:
    print("## Times from shapes alone, V100\n")
    if data is None or not (data / TRUTH).exists():
        print(f"Skipped: give --data FOLDER with {TRUTH}.\n")
        return
    rows = list(csv.reader((data / TRUTH).read_text().splitlines()))[1:]
    keys = "\n".join(key_of(row[0], row[1]) for row in rows) + "\n"
    found = subprocess.run([probe, DEVICE], input=keys, capture_output=True, text=True, check=True).stdout.splitlines()
    predicted = [tuple(float(ns) / 1e6 for ns in line.split()[4:6]) for line in found]
    truths = {"library": [float(row[2]) for row in rows], "the fastest": [min(map(float, row[2:])) for row in rows]}
    lines = []
    for kind, name in [*KINDS.items(), ("", "all")]:
        chosen = [i for i, row in enumerate(rows) if row[0].startswith(kind)]
        line = [name, str(len(chosen))]
        for truth in truths.values():
            measured = [truth[i] for i in chosen]
            for model in (0, 1):
                guessed = [predicted[i][model] for i in chosen]
                errors = [abs(a / b - 1) for a, b in zip(guessed, measured, strict=True)]
                line.append(f"{median(errors):.0%}, {rank_correlation(guessed, measured):.2f}")
        lines.append(line)
    heads = [f"{model}, {truth}" for truth in truths for model in ("roofline", "white box")]
    table(["median error, rank correlation", "operators", *heads], lines)
