"""Changes of examples on a GPU, predicted and tried: whether both intervals meet, and what the device's memory does.

`python tests/gpu/changes.py` prints a table in Markdown, then what passed and what failed. The answers are left in
$OUT.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "bench"), str(ROOT / "tests" / "integration")]

import what_if  # noqa: E402
from checks import show  # noqa: E402
from example_entries import entry_with  # noqa: E402
from steps import BINARY  # noqa: E402

OUT = Path(os.environ["OUT"])
EXAMPLES = {  # the batch size that is profiled, and the changes
    "resnet50": (32, ["bf16-autocast", "channels-last", "accumulate:2"]),
    "gpt": (8, ["bf16-autocast", "checkpoint", "offload"]),
}
PEAK_TOLERANCE = 0.01
LIMIT_S = 110


def answer_of(entry: Path, size: int, changes: list[str]) -> dict[str, Any]:
    """Raises RuntimeError with what the command said."""
    command = [str(BINARY), "what-if", str(entry), "--python", sys.executable, "--format", "json", "--try"]
    command += ["--batch-sizes", str(size), "--seconds", "3", "--measure-seconds", "12", "--try-seconds", "1"]
    command += [part for change in changes for part in ("--change", change)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as problem:
        raise RuntimeError(f"it took more than {LIMIT_S} s") from problem
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-1000:])
    return json.loads(done.stdout)


def main() -> int:
    failed = 0
    checks: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        for example, (size, changes) in EXAMPLES.items():
            try:
                answer = answer_of(entry_with(example, size, Path(folder)), size, changes)
            except RuntimeError as problem:
                print("FAILED", example, problem, flush=True)
                failed += 1
                continue
            (OUT / f"changes_{example}.json").write_text(json.dumps(answer))
            for pair in what_if.pairs_of(example, answer):
                what_if.show(pair)
                of = f"{example}: {pair.change}"
                checks[f"{of}: the intervals meet"] = pair.is_inside
                _, unchanged, tried_unchanged, _ = pair.peaks
                near = abs(tried_unchanged / unchanged - 1) <= PEAK_TOLERANCE
                checks[f"{of}: tried, the unchanged step has the peak of the profile"] = near
                error = pair.memory_error
                checks[f"{of}: the predicted peak is the tried one"] = (
                    error is not None and abs(error) <= PEAK_TOLERANCE
                )
    return max(failed, show(checks))


if __name__ == "__main__":
    sys.exit(main())
