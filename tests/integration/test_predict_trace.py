"""`ridgeline devices TRACE --on`: a step that was recorded on one GPU, on others."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, ridgeline
from gpu_trace import GpuTrace
from jsonschema import Draft202012Validator

SCHEMA = Draft202012Validator(json.loads((ROOT / "protocol/devices.schema.json").read_text("utf-8")))
SIZE = 2048
SHAPES = {
    "Input Dims": [[SIZE, SIZE], [SIZE, SIZE]],
    "Input type": ["float", "float"],
    "Input Strides": [[SIZE, 1], [SIZE, 1]],
    "Concrete Inputs": ["", ""],
}


def write(path: Path, *, shapes: bool = True, device: str = "NVIDIA H100 80GB HBM3", kernels: bool = True) -> GpuTrace:
    """Products only: those of forward are called like those of backward."""
    trace = GpuTrace()
    for event in trace.events:
        if event["name"] in {"aten::linear", "aten::mm"}:
            event["name"] = "aten::mm"
            event["args"].update(SHAPES if shapes else {})
    if not kernels:
        trace.events = [event for event in trace.events if event["cat"] == "cpu_op"]
    document = trace.document()
    document["deviceProperties"][0]["name"] = device
    path.write_text(json.dumps(document))
    return trace


def predict(trace: Path, *arguments: str) -> dict[str, Any]:
    done = ridgeline("devices", trace, "--format", "json", *arguments)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    SCHEMA.validate(answer)
    return answer


def test_the_device_of_the_trace_takes_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    made = write(path)
    answer = predict(path, "--on", "h100,a100", "--price", "3.6")
    per_step = 2 * made.layers
    kernels = [interval.end - interval.start for interval in made.intervals if interval.kernel]
    steps = sorted(sum(kernels[i * per_step : (i + 1) * per_step]) / 1e3 for i in range(made.steps))
    h100, a100 = (device["steps"][0] for device in answer["devices"])
    assert answer["devices"][0]["name"] == "H100" and answer["batchSize"] is None
    assert h100["ms"]["value"] == pytest.approx(statistics.median_low(steps), abs=1e-4)
    assert h100["ms"]["low"] == pytest.approx(steps[0], abs=1e-4)
    assert h100["ms"]["high"] == pytest.approx(steps[-1], abs=1e-4)
    assert h100["operations"]["measured"] == per_step == answer["recorded"]["operations"]
    assert answer["recorded"]["steps"] == made.steps and answer["recorded"]["notDescribed"]["operations"] == 0
    assert answer["recorded"]["transferMs"] > 0
    # Kernels that short cannot have computed such products: nothing follows for another device but its bound.
    assert a100["ms"]["value"] is None and a100["operations"]["bounded"] == per_step
    assert a100["ms"]["low"] == pytest.approx(per_step * 2 * SIZE**3 / 156e12 * 1e3, rel=0.01)
    assert a100["costPerMillionSteps"]["high"] is None and a100["fits"] is None


def test_the_user_says_what_the_trace_does_not(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    write(path, device="NVIDIA Abacus")
    done = ridgeline("devices", path, "--on", "t4")
    assert done.returncode == 2
    assert "no data sheet of the GPU of the trace, NVIDIA Abacus" in done.stderr and "--recorded-on" in done.stderr
    answer = predict(path, "--on", "t4", "--recorded-on", "T4", "--recorded-batch-size", "32")
    assert answer["batchSize"] == 32 and answer["devices"][0]["steps"][0]["ms"]["value"] > 0
    assert answer["devices"][0]["steps"][0]["samplesPerSecond"]["high"] > 0
    done = ridgeline("devices", path, "--on", "t4", "--recorded-on", "T4")
    assert "batch size not known" in done.stdout and "Recorded on NVIDIA Abacus (data sheet of T4)" in done.stdout


@pytest.mark.parametrize(
    ("trace", "arguments", "reason"),
    [
        ({"shapes": False}, ["--on", "t4"], "record_shapes=True"),
        ({"kernels": False}, ["--on", "t4"], "no kernels of a GPU"),
        ({}, ["--on", "t4", "--dataset-size", "1000"], "--recorded-batch-size"),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    tmp_path: Path, trace: dict[str, bool], arguments: list[str], reason: str
) -> None:
    path = tmp_path / "trace.json"
    write(path, **trace)
    done = ridgeline("devices", path, *arguments)
    assert done.returncode in {1, 2} and reason in done.stderr


def test_a_trace_has_no_other_batch_sizes(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    write(path)
    done = ridgeline("predict", path, "--batch-size", "64")
    assert done.returncode == 2 and "A trace has one batch size. `ridgeline devices` predicts it" in done.stderr
