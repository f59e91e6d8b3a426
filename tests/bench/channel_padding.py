"""Padding of convolutions' channels, predicted and tried: `./dev bench channel-padding [--seed N]`.

Each of the shapes is two convolutions with a ReLU between them, forward and backward, whose number of channels between
them is not chosen with care. Where channels are computed in blocks of 16, and what does not fill the last one as if it
did, a multiple of 16 takes as long. What is tried is the whole, in turns with the unpadded one.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from padding import by_turns, interval, is_right

SHAPES = 30
BLOCK = 16  # float32 in a vector of AVX-512


def shapes(seed: int) -> list[tuple[int, int, int, int, int]]:
    """Images, places each way, channels of the input, those between, and the kernel's size."""
    draw = random.Random(seed)
    sizes = [(56, 32), (28, 64), (14, 128), (7, 256)]
    return [
        (draw.choice([1, 2, 4, 8]), *draw.choice(sizes), draw.randint(17, 300), draw.choice([1, 3]))
        for _ in range(SHAPES)
    ]


def padded(channels: int) -> int:
    return -(-channels // BLOCK) * BLOCK


def step(images: int, size: int, inputs: int, channels: int, kernel: int) -> Callable[[], None]:
    import torch
    from torch import nn

    first = nn.Conv2d(inputs, channels, kernel, padding=kernel // 2)
    second = nn.Conv2d(channels, inputs, kernel, padding=kernel // 2)
    net = nn.Sequential(first, nn.ReLU(), second)
    x, gradient = torch.randn(images, inputs, size, size), torch.randn(images, inputs, size, size)
    return lambda: net(x).backward(gradient)


def measure(seed: int, threads: int, seconds: float) -> None:
    """Prints a line for each shape: the ratios of each round, at the next multiple of 16."""
    import torch

    torch.set_num_threads(threads)
    for images, size, inputs, channels, kernel in shapes(seed):
        if padded(channels) == channels:
            continue
        plain, wider = by_turns(
            [step(images, size, inputs, count, kernel) for count in (channels, padded(channels))], seconds
        )
        ratios = [a / b for a, b in zip(wider, plain, strict=True)]
        print(json.dumps({"shape": [images, size, inputs, channels, kernel], "ratios": ratios}), flush=True)


def print_results(found: list[dict[str, Any]], table: Callable[..., None]) -> None:
    rows, signs, ratios = [], [], []
    for one in found:
        middle, low, high = interval(one["ratios"])
        signs.append(is_right(0.99, low, high))  # as if each were predicted to be faster
        ratios.append(middle)
        verdict = {None: "–", True: "faster", False: "slower"}[signs[-1]]
        rows.append([" × ".join(map(str, one["shape"])), str(padded(one["shape"][3])),
                     f"{middle:.3f} ({low:.3f}–{high:.3f})", verdict])  # fmt: skip
    table(["images × size × inputs × channels × kernel", "padded to", "tried", "beyond the noise"], rows)
    ordered = sorted(ratios)
    print(f"{len(found)} shapes: {signs.count(True)} faster and {signs.count(False)} slower beyond the noise; "
          f"median {median(ordered):.3f}, from {ordered[0]:.3f} to {ordered[-1]:.3f}.\n")  # fmt: skip


def run(table: Callable[..., None], seed: int, threads: int, seconds: float) -> None:
    print(f"### Padding of channels: {threads} thread{'s' if threads > 1 else ''}\n")
    command = [sys.executable, __file__, str(seed), str(threads), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    print_results([json.loads(line) for line in done.stdout.splitlines()], table)


if __name__ == "__main__":
    measure(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
