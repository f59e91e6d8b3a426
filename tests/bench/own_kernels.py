"""Programs that `ridgeline kernel` constructs, beside torch's library and Inductor: `./dev bench kernels --seed N`."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

OPERATORS = 40
OTHERS = ("inductor", "onednn")  # beside torch's own library
SECONDS = 0.1  # of timing each program
FUNCTIONS = ["relu", "sigmoid", "tanh", "exp"]


EXPRESSIONS = [
    "relu(x + y)",
    "x * y + z",
    "gelu(x + b[{columns}])",
    "x * sigmoid(x)",
    "(x - y) * (x - y)",
    "tanh(x * a[{columns}] + b[{columns}])",
    "relu(x * y + z) * 0.5 + w",
    "exp(x) / (1 + y * y)",
]


def operators(seed: int) -> list[str]:
    """Products, batched ones, those with what is fused, convolutions, elementwise chains and reductions, in turn."""
    draw = random.Random(seed)

    def product() -> str:
        return f"matmul {draw.choice([32, 128, 512, 1024])} {draw.randint(16, 1100)} {draw.randint(16, 1100)}"

    def batched() -> str:
        rows, depth = draw.choice([64, 128, 197, 256]), draw.choice([32, 64, 80])
        return f"bmm {draw.choice([4, 8, 16, 48])} {rows} {rows} {depth}"

    def matrix() -> tuple[int, int]:
        return draw.choice([32, 128, 512, 2048]), draw.randint(16, 2048)

    def elementwise() -> str:
        rows, columns = matrix()
        return f"elementwise {rows} {columns} = {draw.choice(EXPRESSIONS).format(columns=columns)}"

    def reduction() -> str:
        rows, columns = matrix()
        return f"reduce {draw.choice(['sum', 'mean', 'max'])} {rows} {columns} dim {draw.randint(0, 1)}"

    def convolution() -> str:
        size, channels, kernel = draw.choice([(56, 32), (28, 64), (14, 128)]) + (draw.choice([1, 3]),)
        return f"conv 2 {channels} {size} {size} {draw.randint(16, 200)} {kernel} stride 1 padding {kernel // 2}"

    kinds = [product, batched, lambda: product() + " + bias + relu", elementwise, lambda: product() + " + relu"]
    kinds += [convolution, elementwise, reduction]
    return [kinds[i % len(kinds)]() for i in range(OPERATORS)]


def as_function(operation: str) -> tuple[Callable[..., Any], list[Any]]:
    """In torch, and its operands."""
    import torch

    words = [word for word in operation.split() if word != "+"]
    if words[0] == "elementwise":
        sizes, text = (int(words[1]), int(words[2])), operation.split("=")[1].strip()
        rows, text = set(re.findall(r"([a-z])\[", text)), re.sub(r"\[\d+\]", "", text)
        names = sorted(set(re.findall(r"\b[a-z]\b", text)))
        functions = {"gelu": torch.nn.functional.gelu, **{name: getattr(torch, name) for name in FUNCTIONS}}
        operands = [torch.randn(sizes[1:] if name in rows else sizes) for name in names]
        return eval(f"lambda {', '.join(names)}: {text}", functions), operands
    if words[0] == "conv":
        images, channels, height, width, outputs, kernel = map(int, words[1:7])
        operands = [torch.randn(images, channels, height, width), torch.randn(outputs, channels, kernel, kernel)]
        return lambda x, w: torch.conv2d(x, w, stride=int(words[8]), padding=int(words[10])), operands
    if words[0] == "reduce":
        reduction, dim = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[words[1]], int(words[5])
        return lambda a: reduction(a, dim=dim), [torch.randn(int(words[2]), int(words[3]))]
    fused = {"bias", "relu"} & set(words)
    sizes = tuple(int(word) for word in words[1:] if word not in fused)
    batches, (rows, columns, depth) = sizes[:-3], sizes[-3:]

    def product(a: Any, b: Any, bias: Any) -> Any:
        c = torch.addmm(bias, a, b) if "bias" in fused else torch.matmul(a, b)
        return torch.relu_(c) if "relu" in fused else c

    return product, [torch.randn(*batches, rows, depth), torch.randn(*batches, depth, columns), torch.randn(columns)]


def share_of(other: str, operation: str, threads: int) -> float:
    """Time of Inductor's program or of oneDNN over eager torch's, in turns. For a process of its own."""
    import torch
    import torch._dynamo  # its import takes long: not while something is timed

    torch.set_num_threads(threads)
    plain, operands = as_function(operation)
    function = torch.compile(plain) if other == "inductor" else by_onednn(operation, operands)
    with torch.no_grad():
        torch.testing.assert_close(function(*operands), plain(*operands), atol=1e-3, rtol=1e-3)
        times: list[list[float]] = [[], []]
        end = perf_counter() + 10 * SECONDS
        while perf_counter() < end or len(times[0]) < 5:
            for taken, run in zip(times, (plain, function), strict=True):
                begin = perf_counter()
                run(*operands)
                taken.append(perf_counter() - begin)
    return median(times[1]) / median(times[0])


def by_onednn(operation: str, operands: list[Any]) -> Callable[..., Any]:
    """A product of two matrices; the second one is in oneDNN's own order beforehand, as that of a frozen layer is."""
    import torch

    right = operands[1].t().contiguous()
    packed = torch.ops.mkldnn._reorder_linear_weight(right, operands[0].shape[0])
    attribute = "relu" if "+ relu" in operation else "none"
    has_bias = "+ bias" in operation

    def product(a: Any, _: Any, bias: Any) -> Any:
        return torch.ops.mkldnn._linear_pointwise(a, packed, bias if has_bias else None, attribute, [], "")

    return product


def measured(binary: Path, operation: str, threads: int, against: tuple[str, ...]) -> dict[str, Any]:
    """Times over torch's: of the best predicted program, of the best of ten, and of those of `against` that have it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "kernel", operation, "--threads", str(threads), "--seconds", str(SECONDS)]
        command += ["--python", sys.executable, "--format", "json", "--output", f"{folder}/answer.json"]
        subprocess.run(command, check=True, capture_output=True)
        answer = json.loads(Path(folder, "answer.json").read_text("utf-8"))
    shares = [program["measuredNs"] / answer["libraryNs"] for program in answer["programs"] if "measuredNs" in program]
    others = {}
    for other in against:
        if other == "onednn" and not is_product(operation):
            continue
        command = [sys.executable, __file__, other, operation, str(threads)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        others[other] = float(done.stdout) if done.returncode == 0 else None
    return {
        "operation": operation,
        "libraryUs": answer["libraryNs"] / 1e3,
        "constructionMs": answer["constructionMs"],
        "first": shares[0] if "measuredNs" in answer["programs"][0] else None,
        "best": min(shares),
        "failed": len(answer["programs"]) - len(shares),
        **others,
    }


def is_product(operation: str) -> bool:
    """Whether it is a product of two matrices: only these are timed with oneDNN."""
    return operation.startswith("matmul")


def summary(name: str, shares: list[float]) -> list[str]:
    within = sum(share <= 1.1 for share in shares) / len(shares)
    faster = sum(share < 1 for share in shares) / len(shares)
    worst = max(shares)
    return [name, str(len(shares)), f"{within:.0%}", f"{faster:.0%}", f"{median(shares):.2f}×", f"{worst:.2f}×"]


def print_results(found: list[dict[str, Any]], table: Callable[..., None]) -> None:
    rows = [
        summary("the best predicted, beside torch", [one["first"] for one in found if one["first"] is not None]),
        summary("the best of ten, beside torch", [one["best"] for one in found]),
    ]
    for other, name in (("inductor", "Inductor"), ("onednn", "oneDNN, products")):
        both = [one for one in found if one.get(other) is not None]
        firsts = [one["first"] / one[other] for one in both if one["first"] is not None]
        if firsts:
            rows.append(summary(f"the best predicted, beside {name}", firsts))
            rows.append(summary(f"the best of ten, beside {name}", [one["best"] / one[other] for one in both]))
    table(["", "operators", "within 10 %", "faster", "median", "worst"], rows)
    worst = max(found, key=lambda one: one["best"])
    print(f"Worst of the best of ten: {worst['operation']}. Programs that failed: {sum(o['failed'] for o in found)}.")
    print(f"Construction of the top ten: at most {max(one['constructionMs'] for one in found):.2f} ms.\n")


def run(
    binary: Path, table: Callable[..., None], seed: int, figures: Path | None, against: tuple[str, ...] = OTHERS
) -> None:
    """`figures`: a file that keeps what was measured, so that a run can be taken up again."""
    chosen = [one for one in operators(seed) if "inductor" in against or is_product(one)]
    kept = figures.read_text("utf-8").splitlines() if figures and figures.exists() else []
    known = {(one["operation"], one["threads"]): one for one in map(json.loads, kept)}
    for threads in (1, 2):
        for operation in chosen:
            if (operation, threads) not in known:
                one = measured(binary, operation, threads, against) | {"threads": threads}
                known[operation, threads] = one
                if figures:
                    with figures.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(one) + "\n")
        print(f"### Programs for operators, {threads} thread{'s' if threads > 1 else ''}\n")
        print_results([known[operation, threads] for operation in chosen], table)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("other", choices=["inductor", "onednn"])
    parser.add_argument("operation")
    parser.add_argument("threads", type=int)
    options = parser.parse_args()
    print(share_of(options.other, options.operation, options.threads))


if __name__ == "__main__":
    main()
