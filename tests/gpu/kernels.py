"""Programs that `ridgeline kernel` constructs for this GPU: whether they are right, and their times beside torch's and
the predicted ones.

Usage: tests/gpu/kernels.py [SEED]. Writes a table in Markdown, and the answers as JSON into $OUT. Operations that there
was no time for are named.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
BUDGET_S = float(os.environ.get("RIDGELINE_GPU_SECONDS", "75"))  # no operation is begun afterwards
OPERATIONS = 20
SECONDS = "0.03"  # for timing each program
LIMIT_S = 40  # of one operation
ALLOWED = 1e-5  # a result's relative error


def operations(seed: int) -> list[str]:
    """Some operations of each kind that a step has, with random sizes."""
    draw = random.Random(seed)

    def size(low: int, high: int) -> int:
        return draw.choice([draw.randint(low, high), 1 << draw.randint(low.bit_length(), high.bit_length() - 1)])

    def product() -> str:
        return f"matmul {size(256, 4096)} {size(256, 4096)} {size(256, 4096)}"

    def linear() -> str:
        return f"linear {size(128, 2048)} {size(256, 4096)} {size(256, 2048)} + bias + relu"

    def batched() -> str:
        rows = draw.choice([128, 197, 256, 512])
        return f"bmm {draw.choice([16, 96, 192])} {rows} {rows} {draw.choice([64, 80])}"

    def convolution() -> str:
        pixels, channels = draw.choice([(56, 64), (28, 128), (14, 256)])
        kernel = draw.choice([1, 3])
        return f"conv 32 {channels} {pixels} {pixels} {size(64, 256)} {kernel} stride 1 padding {kernel // 2}"

    def chain() -> str:
        columns = size(512, 8192)
        expressions = ["relu(x * y + z)", f"gelu(x + b[{columns}])", "x * sigmoid(x)", "tanh(x) * y + exp(-z)"]
        return f"elementwise {size(512, 8192)} {columns} = {draw.choice(expressions)}"

    def reduction() -> str:
        return (
            f"reduce {draw.choice(['sum', 'mean', 'max'])} {size(512, 8192)} {size(512, 8192)} dim {draw.randint(0, 1)}"
        )

    kinds = [product, batched, convolution, chain, reduction, product, linear]
    drawn = ["matmul 4096 4096 4096", *(kinds[i % len(kinds)]() for i in range(24))]
    return list(dict.fromkeys(drawn))[:OPERATIONS]


def answer_of(operation: str, gpu: str) -> dict[str, Any]:
    """What the command found; `problem` where it failed or ran nothing."""
    command = [ROOT / "build/bin/ridgeline", "kernel", operation, "--device", gpu, "--python", sys.executable]
    command += ["--seconds", SECONDS, "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"operation": operation, "problem": f"it took more than {LIMIT_S} s"}
    if done.returncode != 0:
        return {"operation": operation, "problem": done.stderr.strip()[-500:]}
    answer = json.loads(done.stdout)
    if "libraryNs" not in answer:
        answer["problem"] = answer["programs"][0]["problem"]
    return answer


def ranks(values: list[float]) -> list[float]:
    order = sorted(values)
    return [mean(i for i, other in enumerate(order) if other == value) for value in values]


def rank_correlation(pairs: list[tuple[float, float]]) -> float | None:
    """Spearman's; None of fewer than three, or where one side is the same for all."""
    if len(pairs) < 3:
        return None
    sides = [torch.tensor(ranks(list(side))) for side in zip(*pairs, strict=True)]
    found = torch.corrcoef(torch.stack(sides))[0, 1].item()
    return found if found == found else None


def figures(answer: dict[str, Any]) -> dict[str, Any]:
    """The figures of an operation whose programs were run."""
    programs, library = answer["programs"], answer["libraryNs"]
    run = [program for program in programs if "measuredNs" in program]
    pairs = [(program["predictedNs"], program["measuredNs"]) for program in run]
    return {
        "operation": answer["operation"],
        "libraryUs": library / 1e3,
        "ran": f"{len(run)} of {len(programs)}",
        "error": max((program["relativeError"] for program in run), default=None),
        "predictedUs": programs[0]["predictedNs"] / 1e3,
        "measuredOverPredicted": median(b / a for a, b in pairs) if pairs else None,
        "rank": rank_correlation(pairs),
        "first": programs[0]["measuredNs"] / library if "measuredNs" in programs[0] else None,
        "best": min(program["measuredNs"] for program in run) / library if run else None,
        "problems": sorted({program["problem"] for program in programs if "problem" in program}),
    }


HEADINGS = {
    "operation": "operation",
    "libraryUs": "torch, us",
    "ran": "ran, right",
    "error": "largest error",
    "predictedUs": "first predicted, us",
    "measuredOverPredicted": "measured / predicted",
    "rank": "rank correlation",
    "first": "first / torch",
    "best": "best / torch",
}


def cell(value: Any) -> str:
    return "–" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def table(rows: list[dict[str, Any]]) -> str:
    lines = [list(HEADINGS.values()), ["---", *["---:"] * (len(HEADINGS) - 1)]]
    lines += [[cell(row[key]) for key in HEADINGS] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    def middle(key: str) -> str:
        values = [row[key] for row in rows if row[key] is not None]
        return f"{cell(median(values))} ({cell(min(values))} to {cell(max(values))})" if values else "–"

    lines = [f"Median (least to most): {HEADINGS[key]} {middle(key)}." for key in list(HEADINGS)[5:]]
    for key in ("first", "best"):
        shares = [row[key] for row in rows if row[key] is not None]
        within, faster = (sum(share <= limit for share in shares) for limit in (1.1, 1))
        lines.append(f"{HEADINGS[key]}: within 10 % {within}, faster {faster}, of {len(shares)}.")
    return lines


def main() -> int:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    gpu, begin = torch.cuda.get_device_name(), perf_counter()
    answers, skipped = [], []
    for operation in operations(seed):
        if perf_counter() - begin > BUDGET_S:
            skipped.append(operation)
            continue
        answers.append(answer_of(operation, gpu))
    rows = [figures(answer) for answer in answers if "problem" not in answer]
    failed = [f"{answer['operation']}: {answer['problem']}" for answer in answers if "problem" in answer]
    failed += [f"{row['operation']}: {problem}" for row in rows for problem in row["problems"]]
    out = Path(os.environ.get("OUT", ROOT / "build/gpu"))
    out.mkdir(parents=True, exist_ok=True)
    (out / "kernels.json").write_text(
        json.dumps({"gpu": gpu, "seed": seed, "answers": answers, "rows": rows}, indent=1)
    )
    print(f"{gpu}, torch {torch.__version__}, seed {seed}; float32 without TF32. Times on the device, launched from a")
    print(f"CUDA graph, with operands that are warm in the L2 where they fit. {perf_counter() - begin:.0f} s in all.\n")
    print(table(rows), "", *summary(rows), *[f"Failed: {line}" for line in failed], sep="\n")
    print(*[f"No time was left for {operation}." for operation in skipped], sep="\n")
    too_far = [row["operation"] for row in rows if row["error"] is not None and row["error"] > ALLOWED]
    print(*[f"Not exact enough: {operation}" for operation in too_far], sep="\n")
    return 1 if failed or too_far or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
