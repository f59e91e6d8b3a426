"""`ridgeline machine measure`: what the processor can do, beside what the system says and what torch reaches."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch
from conftest import ROOT, ridgeline
from jsonschema import Draft202012Validator

SCHEMA = json.loads((ROOT / "protocol/device.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict[str, str]]:
    environment = {"RIDGELINE_CACHE": str(tmp_path_factory.mktemp("cache"))}
    done = ridgeline("machine", "measure", "--seconds", "0.05", "--format", "json", **environment)
    assert done.returncode == 0, done.stderr
    assert "Measuring: " in done.stderr
    return json.loads(done.stdout), environment


def test_what_was_measured_is_as_the_schema_says_and_is_kept(measured: tuple[dict, dict[str, str]]) -> None:
    device, environment = measured
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(device)
    if not (Path(environment["RIDGELINE_CACHE"]) / "devices").exists():
        pytest.skip("other processes disturbed the measurement, so that it is not kept")
    again = ridgeline("machine", "show", "--format", "json", **environment)
    assert json.loads(again.stdout) == device
    assert "Measuring" not in again.stderr
    shown = ridgeline("machine", "show", **environment).stdout
    assert device["name"] in shown and "FLOP/s" in shown and "STREAM triad" in shown


def test_levels_are_those_of_the_system_and_the_nearer_is_the_faster(measured: tuple[dict, dict[str, str]]) -> None:
    device, _ = measured
    levels = device["levels"]
    index = Path("/sys/devices/system/cpu/cpu0/cache/index0/size")
    if index.exists():
        assert levels[0]["capacityBytes"] == int(index.read_text().rstrip("K\n")) * 1024
    alone = [level["bytesPerS"]["oneUnit"]["value"] for level in levels]
    assert alone[0] > alone[-1]
    assert all(level["bytesPerS"]["all"]["source"] == "measured" for level in levels)


def test_no_matrix_multiplication_is_faster_than_the_peak(measured: tuple[dict, dict[str, str]]) -> None:
    device, _ = measured
    peaks = {peak["dtype"]: peak["flopPerS"]["all"]["value"] for peak in device["peaks"]}
    a = torch.randn(1024, 1024)
    best = 0.0
    for _ in range(30):
        begin = time.perf_counter()
        a @ a
        best = max(best, 2 * 1024**3 / (time.perf_counter() - begin))
    # MKL reaches a seventh of it on AMD's processors.
    assert 0.02 * peaks["float32"] < best < 1.1 * peaks["float32"]


def test_data_sheets(tmp_path: Path) -> None:
    file = tmp_path / "a100.json"
    assert ridgeline("machine", "show", "A100", "--format", "json", "--output", file).returncode == 0
    sheet = json.loads(file.read_text())
    Draft202012Validator(SCHEMA).validate(sheet)
    assert {peak["flopPerS"]["all"]["source"] for peak in sheet["peaks"]} == {"data sheet"}
    assert "not known" in ridgeline("machine", "show", "A100").stdout
    missing = ridgeline("machine", "show", "abacus")
    assert missing.returncode == 2
    assert "there is no data sheet of abacus; there are: P4" in missing.stderr
