"""`--format perfetto` and `--format speedscope`: what is recorded, for other viewers."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT, ridgeline
from gpu_trace import GpuTrace
from jsonschema import Draft7Validator

# The schema in the npm package, which ./dev installs.
SPEEDSCOPE_SCHEMA = ROOT / "tests/web/node_modules/speedscope/dist/release/file-format-schema.json"

Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("trace") / "trace.json"
    file.write_text(json.dumps(GpuTrace().document()))
    return file


def imported(trace: Path, format: str) -> dict[str, Any]:
    done = ridgeline("report", trace, "--format", format)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_float=Fraction if format == "perfetto" else float)


def check_speedscope(file: dict[str, Any]) -> None:
    schema = json.loads(SPEEDSCOPE_SCHEMA.read_text())
    assert [error.message for error in Draft7Validator(schema).iter_errors(file)] == []
    for profile in file["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == pytest.approx(profile["endValue"])
        assert all(0 <= frame < len(file["shared"]["frames"]) for stack in profile["samples"] for frame in stack)


def check_perfetto(trace: dict[str, Any]) -> dict[str, Events]:
    """Reads the trace as a viewer does, and refuses what one would drop: slices that are neither one inside the other
    nor beside each other, arrows from or to where no slice is, rows without a name."""
    by_phase: dict[str, Events] = defaultdict(list)
    rows: dict[tuple[int, int], list[tuple[Fraction, Fraction]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        by_phase[event["ph"]].append(event)
        if event["ph"] == "X":
            rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert set(by_phase) <= {"M", "X", "C", "s", "f"}
    named = {(each["pid"], each["tid"]) for each in by_phase["M"] if each["name"] == "thread_name"}
    assert set(rows) <= named
    for slices in rows.values():
        open_until: list[Fraction] = []
        for start, end in sorted(slices, key=lambda each: (each[0], -each[1])):
            assert 0 <= start <= end
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)
    for arrow in by_phase["s"] + by_phase["f"]:
        assert any(start <= arrow["ts"] <= end for start, end in rows[arrow["pid"], arrow["tid"]])
    assert sorted(each["id"] for each in by_phase["s"]) == sorted(each["id"] for each in by_phase["f"])
    return by_phase


def test_speedscope_closes(trace: Path) -> None:
    report = imported(trace, "json")
    file = imported(trace, "speedscope")
    check_speedscope(file)
    sums = {profile["name"]: sum(profile["weights"]) for profile in file["profiles"]}
    assert sums["time of one iteration"] == pytest.approx(report["iteration"]["timeMs"])
    device = report["device"]
    assert sums["time of device 0"] == pytest.approx(device["kernelMs"] + device["copyMs"])


def test_perfetto_has_what_the_trace_had(trace: Path) -> None:
    events = check_perfetto(imported(trace, "perfetto"))
    kernels = [each for each in events["X"] if each["cat"] == "kernel"]
    made = [each for each in json.loads(trace.read_text())["traceEvents"] if each.get("cat") == "kernel"]
    steps = [each for each in events["X"] if each["cat"] == "step"]
    assert len(steps) == 6
    assert 0 < len(kernels) <= len(made)
    assert sum(float(each["dur"]) for each in kernels) <= sum(each["dur"] for each in made) + 1
    assert {each["args"]["line"].split(":")[0] for each in kernels if "line" in each["args"]}
    assert events["s"], "no kernel is connected to its launch"


def test_a_profile_in_perfetto_has_its_memory(tmp_path: Path, example_report: Any) -> None:
    output = tmp_path / "trace.json"
    entry = ROOT / "examples" / "mlp" / "entry.py"
    done = ridgeline(
        "profile",
        entry,
        "--python",
        PYTHON,
        "--seconds",
        "0.5",
        "--format",
        "perfetto",
        "--output",
        output,
    )
    assert done.returncode == 0, done.stderr
    events = check_perfetto(json.loads(output.read_text(), parse_float=Fraction))
    live = [each["args"]["bytes"] for each in events["C"] if each["name"] == "live memory"]
    assert max(live) == example_report("mlp")["memory"]["peakBytes"]
    phases = {each["args"]["phase"] for each in events["X"] if each["cat"] == "operation"}
    assert {"forward", "backward", "optimizer"} <= phases
    modules = {each["args"].get("module") for each in events["X"] if each["cat"] == "operation"}
    assert any(module and "(Linear)" in module for module in modules)


def test_memory_over_time_peaks_at_the_peak(example_report: Any) -> None:
    memory = example_report("mlp")["memory"]
    over = memory["overTime"]
    totals = [sum(values) for values in zip(*over["byCategory"].values(), strict=True)]
    assert max(totals) == totals[over["peak"]] == memory["peakBytes"]
    assert {name: values[over["peak"]] for name, values in over["byCategory"].items()} == memory["byCategory"]
    assert len(totals) <= 256


@pytest.mark.parametrize("format", ["perfetto", "speedscope"])
def test_a_report_from_elsewhere_has_no_recording(format: str) -> None:
    done = ridgeline("report", ROOT / "tests/data/report/sample.json", "--format", format)
    assert done.returncode == 2
    assert f"--format {format} needs the recording, which is kept for the last 4 profiles" in done.stderr
