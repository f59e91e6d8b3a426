"""`./dev bench fits`: the largest batch size that is said to fit into a budget, and the next one, run.

Examples and budgets are drawn by a seed. A budget lies between what the example's own batch size needs and three times
that. The answer is right where its real peak is within the budget and that of one sample more is not.

Which blocks to checkpoint is compared with all sets of them on small models of random widths, each set predicted alone:
by the products of matrices that run again, which no noise changes.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from own_speed import newest_agent
from shared import BINARY, HERE, ROOT, profile_json, run_json

sys.path.insert(0, str(ROOT / "tests" / "integration"))
from block_entries import entry_of_blocks, modules_in

HEAD = ["example", "budget, MiB", "largest that fits", "predicted peak, MiB", "real peak", "one sample more", "right"]
PLAN_HEAD = [
    "widths of the blocks",
    "budget, MiB",
    "plan",
    "peak, MiB",
    "GFLOP again",
    "least of all sets",
    "GFLOP again",
]
SEED = 20261130
EXAMPLES = 12
BUDGETS = 2
PLANS = 4
LEFT_OUT = {"scheduled_sampling", "custom_function"}  # their peak is of a random number of steps
_MIB = 1 << 20
_BATCH = 4096  # of the models of blocks


def peak_of(entry: Path, size: int) -> int | None:
    """Of a process that runs two steps of that size; None where it fails."""
    command = [sys.executable, HERE / "peak_of_step.py", newest_agent(), entry, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def rows(examples: int = EXAMPLES, budgets: int = BUDGETS) -> Iterator[list[str]]:
    draw = random.Random(SEED)
    entries = sorted(path for path in (ROOT / "examples").glob("*/entry.py") if path.parent.name not in LEFT_OUT)
    for entry in draw.sample(entries, min(examples, len(entries))):
        report = profile_json(entry, "--seconds", "0.5")
        own = report["memory"]["peakBytes"]
        for _ in range(budgets):
            row = _row(entry, round(own * draw.uniform(1.0, 3.0)))
            print(*row, sep=" | ", file=sys.stderr, flush=True)
            yield row


def _row(entry: Path, budget: int) -> list[str]:
    options = ("--python", sys.executable, "--seconds", "0.5", "--fits", "--memory", str(budget), "--format", "json")
    found: dict[str, Any] = run_json(BINARY, "predict", entry, *options)["answer"]
    name = [entry.parent.name, f"{budget / _MIB:.1f}"]
    if found["batchSize"] is None:
        return [*name, "none", "", "", "", ""]
    size = found["batchSize"]
    real, more = peak_of(entry, size), peak_of(entry, size + 1)
    if real is None or more is None:
        return [*name, str(size), f"{found['peakBytes']['value'] / _MIB:.1f}", "did not run", "", ""]
    is_right = real <= budget < more
    low, high = (found["peakBytes"]["interval"][end] / _MIB for end in ("low", "high"))
    predicted = f"{found['peakBytes']['value'] / _MIB:.1f}" + (f" ({low:.1f} to {high:.1f})" if low < high else "")
    right = "yes" if is_right else "no, inside" if low <= real / _MIB <= high else "no"
    return [*name, str(size), predicted, f"{real / _MIB:.1f}", f"{more / _MIB:.1f}", right]


def plan_rows(plans: int = PLANS) -> Iterator[list[str]]:
    draw = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(plans):
            widths = [draw.randrange(256, 3072, 128) for _ in range(draw.randint(3, 4))]
            entry = Path(folder) / f"entry{number}.py"
            entry.write_text(entry_of_blocks(widths, _BATCH))
            yield _plan_row(entry, widths, draw.uniform(0.1, 0.9))


def _plan_row(entry: Path, widths: list[int], part: float) -> list[str]:
    options = ("--python", sys.executable, "--seconds", "1", "--format", "json")
    blocks = [f"blocks.{i}" for i in range(len(widths))]
    counts = range(1, len(blocks) + 1)
    sets = [",".join(names) for count in counts for names in itertools.combinations(blocks, count)]
    asked = [part for names in sets for part in ("--change", f"checkpoint:{names}")]
    whatif = run_json(BINARY, "what-if", entry, *asked, *options)
    alone = {row["change"][0]: row["predicted"] for row in whatif["changes"] if len(row["change"]) == 1}
    least = alone[f"checkpoint:{sets[-1]}"]["peakBytes"]
    limit = round(least + part * (whatif["peakBytes"] - least))
    answer = run_json(BINARY, "predict", entry, "--make-fit", str(_BATCH), "--memory", str(limit), *options)
    alike = [row for row in answer["changes"] if row["change"] and all("checkpoint" in one for one in row["change"])]
    plan = next((row for row in alike if row["fits"] and ":" in row["change"][0]), None)
    plan = plan or next(row for row in alike if row["fits"])  # it takes all of them
    fitting = {name: row for name, row in alone.items() if row["peakBytes"] <= limit}
    least_again = min((_gflop_again([name], widths), name) for name in fitting)
    return [
        ", ".join(map(str, widths)),
        f"{limit / _MIB:.1f}",
        " + ".join(plan["change"]),
        f"{plan['peakBytes'] / _MIB:.1f}",
        f"{_gflop_again(plan['change'], widths):.1f}",
        least_again[1],
        f"{least_again[0]:.1f}",
    ]


def _gflop_again(change: list[str], widths: list[int]) -> float:
    """Of what is checkpointed whole; selective checkpointing keeps the products."""
    total = 0
    for part in change:
        way, _, names = part.partition(":")
        if way == "checkpoint":
            for name in modules_in(names or f"blocks.0..{len(widths) - 1}"):
                total += widths[int(name.removeprefix("blocks."))]
    return total * 2 * 2 * 96 * _BATCH / 1e9


def run(table: Callable[[list[str], list[list[str]]], None]) -> None:
    print("### Largest batch sizes that fit\n")
    table(HEAD, list(rows()))
    print("### Which blocks to checkpoint\n")
    table(PLAN_HEAD, list(plan_rows()))
