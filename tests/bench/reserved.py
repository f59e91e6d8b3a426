"""Reserved memory: what `./dev bench reserved` prints.

Without a GPU: the requests are those that the examples make of the CPU's allocator. The profile's side sees a few batch
sizes in one process and predicts others; the other side serves every request of a training run of that batch size, from
the first on. Both by the same model of CUDA's caching allocator: what is compared is the ledger, the repeated step and
the state that it settles in, not the allocator's rules.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from accuracy import output_of

# What is recorded of each example, and six sizes that are predicted, inside of that range and beyond both of its ends.
SIZES = {
    "mlp": ((16, 32, 64, 128, 192), (8, 24, 48, 96, 256, 384)),
    **dict.fromkeys(("resnet50", "vgg11", "gnmt", "transformer", "dcgan"), ((2, 4, 6, 8), (1, 3, 5, 7, 10, 12))),
    "gpt": ((1, 2, 4, 6), (3, 5, 7, 8, 9, 10)),
}
WORDS = {True: "yes", False: "no"}
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def recorded(agent: Path, example: str, folder: Path, how: str, sizes: tuple[int, ...]) -> list[str]:
    folder.mkdir(exist_ok=True)
    entry = ROOT / "examples" / example / "entry.py"
    output_of(sys.executable, HERE / "record_steps.py", agent, entry, folder, how, *map(str, sizes))
    return [f"{size}={folder / f'{size}.bin'}" for size in sizes]


def evaluate(bench: Path, agent: Path, example: str, sampled: tuple[int, ...], checked: tuple[int, ...]) -> Any:
    """The last size that is checked gives the memory of a device: what it reserves where nothing limits it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples = recorded(agent, example, folder / "sampled", "sampled", sampled)

        def ask(limit: int, sizes: tuple[int, ...]) -> Any:
            wholes = [recorded(agent, example, folder / str(size), "whole", (size,))[0] for size in sizes]
            return json.loads(output_of(bench, str(limit), *samples, "--", *wholes))

        result = ask(1 << 50, checked)
        limit = result["checks"][-1]["real"]
        largest = ask(limit, ())
        edge = ask(limit, (largest["largest"], largest["largest"] + 1))["checks"]
        fits = {check["batchSize"]: check["fits"] for check in edge}
        return {**result, **{key: largest[key] for key in ("largest", "largestMs")}, "limit": limit, "fits": fits}


def run(bench: Path, agent: Path, table: Callable[[list[str], list[list[str]]], None]) -> None:
    rows = []
    for example, (sampled, checked) in SIZES.items():
        result = evaluate(bench, agent, example, sampled, checked)
        off = [check["predicted"] / check["real"] - 1 for check in result["checks"]]
        over = [check["real"] / check["realAllocated"] - 1 for check in result["checks"]]
        largest = result["largest"]
        edge = [result["fits"][size] for size in (largest, largest + 1)]
        rows.append(
            [
                example,
                f"{result['events']}",
                f"{100 * mean(map(abs, off)):.2f} / {100 * max(off, key=abs):+.2f}",
                f"{sum(part == 0 for part in off)} of {len(off)}",
                f"{100 * mean(over):.0f}",
                f"{largest}: {WORDS[edge[0]]}, {WORDS[edge[1]]}",
                f"{mean(check['replayMs'] for check in result['checks']):.1f}",
                f"{result['largestMs']:.0f}",
            ]
        )
        print(f"{example}: {json.dumps(result)}", file=sys.stderr, flush=True)
    table(
        [
            "example",
            "requests and releases",
            "reserved off, mean / worst, %",
            "exact",
            "reserved above allocated, %",
            "largest that fits: whether it does, and the next",
            "a replay, ms",
            "the largest that fits, ms",
        ],
        rows,
    )
