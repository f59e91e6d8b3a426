"""Padding of linear layers, predicted and tried: `./dev bench padding [--seed N]`.

Each of the shapes is two layers with a ReLU between them, forward and backward, whose hidden width is not chosen with
care. Products are timed alone for the prediction; what is tried is the whole, in turns with the unpadded one.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

SHAPES = 30
CALL_SECONDS = 0.001  # of calls that are timed together


def shapes(seed: int) -> list[tuple[int, int, int, int]]:
    """Rows, inputs, hidden width, outputs."""
    draw = random.Random(seed)
    return [
        (
            draw.choice([32, 64, 128, 256, 512, 1024, 2048]),
            draw.choice([64, 128, 256, 512]),
            draw.randint(33, 1100),
            draw.choice([10, 64, 128, 256, 512]),
        )
        for _ in range(SHAPES)
    ]


def by_turns(runs: list[Callable[[], Any]], seconds: float) -> list[list[float]]:
    """Seconds of a call, by run; those of one round together."""
    counts = []
    for run in runs:
        run()
        begin = perf_counter()
        run()
        counts.append(max(1, round(CALL_SECONDS / max(perf_counter() - begin, 1e-7))))
    times: list[list[float]] = [[] for _ in runs]
    order, shuffle = list(range(len(runs))), random.Random(0).shuffle
    end = perf_counter() + seconds
    while len(times[0]) < 7 or perf_counter() < end:
        shuffle(order)  # what ran before takes part of the caches
        for i in order:
            begin = perf_counter()
            for _ in range(counts[i]):
                runs[i]()
            times[i].append((perf_counter() - begin) / counts[i])
    return times


def step(rows: int, inputs: int, width: int, outputs: int) -> Callable[[], None]:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs))
    x, gradient = torch.randn(rows, inputs), torch.randn(rows, outputs)
    return lambda: net(x).backward(gradient)


def products(rows: int, inputs: int, outputs: int) -> list[Callable[[], Any]]:
    """Forward, the gradient of the input, that of the weight."""
    import torch
    from torch.nn import functional

    x, w, b, g = (torch.randn(*s) for s in ((rows, inputs), (outputs, inputs), (outputs,), (rows, outputs)))
    return [lambda: functional.linear(x, w, b), lambda: g @ w, lambda: g.t() @ x]


def measure(seed: int, threads: int, seconds: float) -> None:
    """Prints a line for each shape: the ratios of each round, and the times of its products."""
    import torch

    torch.set_num_threads(threads)
    for rows, inputs, width, outputs in shapes(seed):
        alone = [
            [median(t) * 1e9 for t in by_turns(products(rows, *sizes), seconds / 4)]
            for sizes in ((inputs, width), (width, outputs))
        ]
        alone[0][1] = 0  # the input of the first layer needs no gradient
        sizes = sorted({width, -(-width // 8) * 8, -(-width // 16) * 16})
        taken = by_turns([step(rows, inputs, size, outputs) for size in (width, *sizes)], seconds)
        ratios = {
            size: [a / b for a, b in zip(times, taken[0], strict=True)]
            for size, times in zip(sizes, taken[1:], strict=True)
        }
        print(json.dumps({"shape": [rows, inputs, width, outputs], "alone": alone, "ratios": ratios}), flush=True)


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """Median, and the order statistics about it that hold it with 95 %."""
    ordered = sorted(ratios)
    rank = max(0, round(len(ordered) / 2 - 0.98 * len(ordered) ** 0.5) - 1)
    return median(ordered), ordered[rank], ordered[-1 - rank]


def predictions(probe: Path, found: list[dict[str, Any]], cache_bytes: int) -> list[list[float]]:
    lines = []
    for one in found:
        rows, inputs, width, outputs = one["shape"]
        layers = [[rows, inputs, width, *one["alone"][0]], [rows, width, outputs, *one["alone"][1]]]
        lines.append(" ".join(str(value) for value in (width, cache_bytes, *layers[0], *layers[1])))
    done = subprocess.run([probe, "padding"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def is_right(predicted: float, low: float, high: float) -> bool | None:
    """None: within the noise."""
    return None if low <= 1 <= high else (predicted < 1) == (high < 1)


def print_results(probe: Path, found: list[dict[str, Any]], cache_bytes: int, table: Callable[..., None]) -> None:
    rows, signs, errors, advised = [], [], [], []
    for one, (_, ratio, best, best_ratio) in zip(found, predictions(probe, found, cache_bytes), strict=True):
        width = one["shape"][2]
        size = int(best) if int(best) != width else -(-width // 8) * 8
        predicted = best_ratio if int(best) != width else ratio
        if size == width:
            continue
        middle, low, high = interval(one["ratios"][str(size)])
        right = is_right(predicted, low, high)
        signs += [] if right is None else [right]
        advised += [right] if int(best) != width else []
        errors.append(middle / predicted)
        shape = " × ".join(map(str, one["shape"]))
        verdict = "–" if right is None else "yes" if right else "no"
        rows.append([shape, str(size), "yes" if int(best) != width else "no", f"{predicted:.3f}",
                     f"{middle:.3f} ({low:.3f}–{high:.3f})", verdict])  # fmt: skip
    table(["rows × inputs × width × outputs", "padded to", "advised", "predicted", "tried", "sign right"], rows)
    print(f"Sign right in {sum(signs)} of {len(signs)} beyond the noise; {len(rows)} shapes that are no multiple of 8.")
    ordered = sorted(errors)
    print(f"Tried over predicted: median {median(ordered):.3f}, from {ordered[0]:.3f} to {ordered[-1]:.3f}.")
    known = [right for right in advised if right is not None]
    print(f"Advised: {len(advised)}; sign right in {sum(known)} of {len(known)} of these beyond the noise.\n")


def run(probe: Path, table: Callable[..., None], seed: int, threads: int, seconds: float) -> None:
    print(f"### Padding, predicted and tried: {threads} thread{'s' if threads > 1 else ''}\n")
    options = {"--seed": seed, "--threads": threads, "--seconds": seconds}
    command = [sys.executable, __file__, *(str(part) for option in options.items() for part in option)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    print_results(probe, found, second_cache_bytes(), table)


def second_cache_bytes() -> int:
    text = Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text("ascii").strip()
    return int(text.removesuffix("K")) * 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, kind in (("--seed", int), ("--threads", int), ("--seconds", float)):
        parser.add_argument(name, type=kind, required=True)
    options = parser.parse_args()
    measure(options.seed, options.threads, options.seconds)


if __name__ == "__main__":
    main()
