"""`./dev bench flops`: the FLOPs of each example's step by shapes, beside torch's FlopCounterMode on the computed step.

`python flops.py EXAMPLE` prints the counts of one example by operator, as JSON: a process for each, as their memory
adds up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))


def rows(probe: Path) -> list[list[str]]:
    """A row for each example: GFLOP by shapes, by torch, and the operators in which they differ."""
    found = []
    for name in EXAMPLES:
        counts = count_in_process(name)
        ours = by_operator(counts["keys"], probe)
        torchs = Counter(counts["torch"])
        differ = [
            f"{operator} {ours[operator] / 1e9:.4g} and {torchs[operator] / 1e9:.4g}"
            for operator in sorted(set(ours) | set(torchs))
            if ours[operator] != torchs[operator]
        ]
        total = sum(ours.values()) / 1e9, sum(torchs.values()) / 1e9
        found.append([name, f"{total[0]:.6g}", f"{total[1]:.6g}", "; ".join(differ) or "none"])
    return found


def by_operator(calls: dict[str, int], probe: Path) -> Counter[str]:
    """FLOPs of matrices by operator; `calls`: how often each key runs."""
    done = subprocess.run([probe], input="\n".join(calls) + "\n", capture_output=True, text=True, check=True)
    flops: Counter[str] = Counter()
    for key, line in zip(calls, done.stdout.splitlines(), strict=True):
        kind, *figures = line.split()
        if kind == "matrix":
            flops[json.loads(key)[0].split("::")[1].split(".")[0]] += int(float(figures[0])) * calls[key]
    return +flops


def count_in_process(name: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


class _WholeStep:
    """In the place of torch's tracker of modules."""

    parents = frozenset({"Global"})

    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def count(name: str) -> dict[str, Any]:
    folder = ROOT / "examples" / name
    sys.path[:0] = [str(folder), str(ROOT / "profiler" / "runner")]
    import torch
    from ridgeline_runner.changes import built_in
    from ridgeline_runner.step import operation_log
    from ridgeline_runner.step.entry import EntryPoint, load
    from torch.utils.flop_counter import FlopCounterMode

    torch.manual_seed(0)
    entry = EntryPoint.of(load(str(folder / "entry.py"), str(folder)), str(folder / "entry.py"))
    parts = built_in.build(entry, [], entry.batch_size)
    counter = FlopCounterMode(display=False)
    counter.mod_tracker = _WholeStep()  # modules are not asked for, and hooks on them break autograd.grad
    with counter:
        parts.function(*parts.inputs)
    log = operation_log.log_step(lambda: parts.function(*parts.inputs), {})
    keys = list(log.keys)
    calls = Counter(keys[key] for key, *_ in log.sequence if key >= 0)
    counted = {str(operator).split(".")[-1]: flops for operator, flops in counter.get_flop_counts()["Global"].items()}
    return {"keys": calls, "torch": counted}


if __name__ == "__main__":
    print(json.dumps(count(sys.argv[1])))
