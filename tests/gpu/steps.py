"""Profiles of examples on a GPU against what torch says in a process of its own: time, peak, lines, predictions.

`python tests/gpu/steps.py` profiles each of EXAMPLES there and prints what passed and what failed. The reports are left
under $OUT. With `--measure FOLDER` it is the process that measures an example without Ridgeline.
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
sys.path.append(str(ROOT / "tests" / "integration"))

from example_entries import entry_with  # noqa: E402

BINARY = ROOT / "build" / "bin" / "ridgeline"
OUT = Path(os.environ["OUT"])
EXAMPLES = {"resnet50": 32, "gpt": 8, "dcgan": 64}  # and the batch size that is profiled
# What another profiler in the process does: CUPTI serves only the first one.
TAKES_CUPTI = """
import ctypes
ignore = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)
subscriber = ctypes.c_void_p()
assert ctypes.CDLL("libcupti.so.13").cuptiSubscribe(ctypes.byref(subscriber), ignore, None) == 0
"""
TIME_TOLERANCE = 0.10
RESERVED_TOLERANCE = 0.05
LIMIT_S = 90


def measure(folder: str) -> dict[str, float]:
    """Times of an iteration, milliseconds, and torch's own peaks, bytes."""
    import torch
    from example_steps import step_of, times_of

    return {
        **times_of(step_of(Path(folder))),
        "peakBytes": torch.cuda.max_memory_allocated(),
        "reservedBytes": torch.cuda.max_memory_reserved(),
    }


def near(value: float, wanted: float, tolerance: float) -> bool:
    return abs(value / wanted - 1) <= tolerance


def checks_of(
    example: str, report: dict[str, Any], before: dict[str, float], after: dict[str, float]
) -> dict[str, bool]:
    """`before`, `after`: what measure() found in turns with the profile, since the machine's speed may change."""
    time = report["iteration"]["timeMs"]
    lines = sum(line["timeMs"]["self"] for line in report["lines"]) + sum(one["timeMs"] for one in report["other"])
    memory = report["memory"]
    peak = memory["peakBytes"]
    bare = sorted((before["timeMs"], after["timeMs"]))
    spread = "; ".join(
        f"{one['timeMs']:.2f} ({one['tenthMs']:.2f} to {one['ninetiethMs']:.2f})" for one in (before, after)
    )
    checks = {
        f"an iteration: {time:.2f} ms, without Ridgeline before and after {spread}": bare[0] * (1 - TIME_TOLERANCE)
        <= time
        <= bare[1] * (1 + TIME_TOLERANCE),
        f"lines and the rest are {lines:.2f} ms of {time:.2f}": near(lines, time, 0.001),
        f"peak {peak}, max_memory_allocated {after['peakBytes']}": peak == after["peakBytes"],
        f"categories of the peak {memory['byCategory']}": memory["byCategory"]["weights"] > 0
        and (example != "gpt" or memory["byCategory"]["gradients"] > 0.9 * memory["byCategory"]["weights"]),
        "the report has no device warnings": not any("device" in text for text in report["warnings"]),
    }
    print("warnings:", *report["warnings"])
    device = report.get("device")
    if device is None:
        return {**checks, "no device in the report": False}
    device_ms = [device[part] for part in ("kernelMs", "copyMs", "idleMs")]
    checks[f"kernels, copies, idle {device_ms} sum to the step"] = near(sum(device_ms), time, 0.001)
    for check in report["checks"]:
        predicted = check["predicted"]
        for name, value in (("timeMs", check["timeMs"]), ("peakBytes", check["peakBytes"])):
            interval = predicted[name]["interval"]
            low, high = interval["low"], interval["high"]
            text = f"{name} at {check['batchSize']}: {value}, predicted {low} to {high}"
            checks[text] = low <= value * 1.02 and value * 0.98 <= high
        reserved, expected = check["peakReservedBytes"], predicted["reservedBytes"]
        expected = expected["value"] if isinstance(expected, dict) else expected
        text = f"reserved at {check['batchSize']}: {reserved}, predicted {expected}"
        checks[text] = near(expected, reserved, RESERVED_TOLERANCE)
    return checks


def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Ended after LIMIT_S seconds."""
    limited = ("timeout", str(LIMIT_S), *arguments)
    return subprocess.run(limited, capture_output=True, text=True, check=False)


def profile(entry: Path, name: str, size: int) -> dict[str, Any] | None:
    sizes = ",".join(str(size * part // 4) for part in (1, 2, 4, 6, 8))
    options = ["--seconds", "4", "--batch-sizes", sizes, "--check-sizes", str(size * 3 // 4)]
    command = [str(BINARY), "profile", str(entry), "--python", sys.executable, "--format", "json", *options]
    done = ask(*command)
    (OUT / f"{name}.json").write_text(done.stdout or done.stderr)
    if done.returncode:
        print("FAILED", name, done.stderr[-2000:], flush=True)
        return None
    return json.loads(done.stdout)


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for example, size in EXAMPLES.items():
            entry = entry_with(example, size, Path(folder))
            before = ask(sys.executable, __file__, "--measure", str(entry.parent))
            report = profile(entry, example, size)
            after = ask(sys.executable, __file__, "--measure", str(entry.parent))
            if before.returncode or after.returncode or report is None:
                print("FAILED", example, (before.stderr + after.stderr)[-2000:])
                failed += 1
                continue
            for text, passed in checks_of(example, report, json.loads(before.stdout), json.loads(after.stdout)).items():
                print("passed" if passed else "FAILED", f"{example}: {text}", flush=True)
                failed += not passed
        entry = Path(folder) / "gpt" / "entry.py"
        entry.write_text(entry.read_text() + TAKES_CUPTI)
        report = profile(entry, "without_cupti", EXAMPLES["gpt"])
    passed = report is not None and "device" in report and any("CUDA events" in text for text in report["warnings"])
    times = report and report.get("device") and {name: report["device"][name] for name in ("kernelMs", "idleMs")}
    print("passed" if passed else "FAILED", "another tool has CUPTI:", times, report and report["warnings"])
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if "--measure" in sys.argv:
        print(json.dumps(measure(sys.argv[-1])))
        sys.exit(0)
    sys.exit(main())
