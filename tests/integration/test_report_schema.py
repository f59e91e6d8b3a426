"""The JSON report's schema: it takes the reports that the unit tests expect, and refuses what is broken.

The samples are expected outputs of tests/unit/report/json_test.cpp, so what is checked here is what the C++ writes.
"""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "protocol/report.schema.json").read_text("utf-8"))
REPORTS = {
    name: json.loads((ROOT / "tests/data/report" / name).read_text("utf-8"))
    for name in ("sample.json", "minimal.json", "device.json")
}
# Members that stand only where something ran on a device, where a batch size was tried, where the peak is known, where
# the graph replays the iteration, or of a script that ran as it is.
OPTIONAL = {"tried", "device", "deviceMs", "allocator", "compilation", "peakReservedBytes", "reservedBytes", "overTime"}
OPTIONAL |= {"work"}  # only where the step's operations are listed
OPTIONAL |= {"schedule", "script", "loading", "libraryCall", "text", "code"}
OPTIONAL |= {"selfSpread"}  # absent with fewer than three recorded iterations
OPTIONAL |= {"callers"}  # only of a module that several lines call
OPTIONAL |= {"communication"}  # only of ranks of a job
OPTIONAL |= {"carriedOver"}  # only of a brief profile after a save
OPTIONAL |= {"othersUsed"}  # only of a busy machine
OPTIONAL |= {"energy", "joules", "co2GramsPerKwh"}  # only where the machine counts it; earlier reports have no "energy"
OPTIONAL |= {"processorShare"}  # not of scripts and traces
OPTIONAL |= {"totalByPhaseMs"}  # only of lines whose total is more than their own time
OPTIONAL |= {"provenance", "threadSettings"}  # not of traces, and of reports of earlier versions
OPTIONAL |= {"inputLength"}  # only with a length_provider
OPTIONAL |= {"paddings"}  # only where one pays
OPTIONAL |= {"ownPrograms"}  # only where one was measured to be faster
OPTIONAL |= {"waitsMs", "pausesMs", "launchesWithoutKernel"}  # not where a trace lost kernels
OPTIONAL |= {"samples", "largest", "leftOut", "whole"}  # of scripts whose steps differ
OPTIONAL |= {"squareBytes", "cubeBytes"}  # only of what grows faster than the batch
OPTIONAL |= {"outOfMemory", "askedBytes", "freeBytes"}  # only where the user's own batch size does not fit
OPTIONAL |= {"partsOfBatch"}  # only where several backward passes may divide the batch

Report = dict[str, Any]


def errors(report: Report) -> list[str]:
    found = Draft202012Validator(SCHEMA).iter_errors(report)
    return [f"{error.json_path}: {error.message}" for error in found]


def subschemas(schema: object) -> Iterator[Report]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from subschemas(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from subschemas(value)


def test_schema_is_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_schema_describes_and_closes_every_object() -> None:
    for schema in subschemas(SCHEMA):
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
            assert set(schema["properties"]) - set(schema["required"]) <= OPTIONAL
            for name, field in schema["properties"].items():
                assert field.get("description"), name


@pytest.mark.parametrize("name", REPORTS)
def test_accepts_what_is_written(name: str) -> None:
    assert errors(REPORTS[name]) == []


def test_the_device_closes() -> None:
    report = REPORTS["device.json"]
    device = report["device"]
    time = report["iteration"]["timeMs"]
    assert device["kernelMs"] + device["copyMs"] + device["idleMs"] == pytest.approx(time, rel=1e-9)
    assert sum(device["waitsMs"].values()) == pytest.approx(time, rel=1e-9)


def test_sample_closes() -> None:
    report = REPORTS["sample.json"]
    lines, other = report["lines"], report["other"]
    time = report["iteration"]["timeMs"]
    assert sum(line["timeMs"]["self"] for line in lines) + sum(o["timeMs"] for o in other) == pytest.approx(time)
    assert sum(report["iteration"]["byPhaseMs"].values()) == pytest.approx(time)
    peak = report["memory"]["peakBytes"]
    assert sum(line["memoryBytes"]["atPeak"] for line in lines) + sum(o["peakBytes"] for o in other) == peak
    assert sum(report["memory"]["byCategory"].values()) == peak


BROKEN: dict[str, Callable[[Report], object]] = {
    "no version": lambda r: r.pop("version"),
    "no id": lambda r: r.pop("id"),
    "an id of another form": lambda r: r.update(id="7"),
    "another version": lambda r: r.update(version=1),
    "an unknown field": lambda r: r.update(extra=1),
    "an unknown field deep inside": lambda r: r["breakdown"]["children"][0]["byPhaseMs"].update(idle=0),
    "a time that is not finite": lambda r: r["iteration"].update(timeMs=None),
    "a negative time": lambda r: r["lines"][0]["timeMs"].update(self=-1),
    "a missing phase": lambda r: r["lines"][0]["timeMs"].pop("data"),
    "a missing category": lambda r: r["memory"]["byCategory"].pop("optimizerState"),
    "half a byte": lambda r: r["memory"].update(peakBytes=0.5),
    "negative bytes": lambda r: r["other"][0].update(peakBytes=-1),
    "batch size 0": lambda r: r["entry"].update(batchSize=0),
    "a maximum of 0": lambda r: r["throughput"].update(maxSamplesPerSecond=0),
    "no samples": lambda r: r["models"]["time"].pop("samples"),
    "half a piece": lambda r: r["models"]["time"]["pieces"][0].pop("slopeMs"),
    "a sample without its noise": lambda r: r["models"]["time"]["samples"][0].pop("aaNoise"),
    "no answers": lambda r: r["answers"].pop("largestThatFits"),
    "an unknown obstacle": lambda r: r["answers"]["now"].update(obstacle="bored"),
    "R² above 1": lambda r: r["models"]["memory"].update(r2=1.01),
    "line 0 of a file": lambda r: r["lines"][0].update(line=0),
    "no calls": lambda r: r["lines"][0].pop("calls"),
    "a place without a file": lambda r: r["breakdown"].update(location={"file": "", "line": 1}),
    "a place without a line": lambda r: r["breakdown"].update(definition={"file": "a.py"}),
    "a share above 1": lambda r: r["closure"].update(userLineShare=1.5),
    "a warning that is not text": lambda r: r["warnings"].append({}),
    "a skipped batch without a kind": lambda r: r["skipped"][0].pop("kind"),
    "no breakdown": lambda r: r.update(breakdown=None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rejects(name: str) -> None:
    report = copy.deepcopy(REPORTS["sample.json"])
    BROKEN[name](report)
    assert errors(report) != []
