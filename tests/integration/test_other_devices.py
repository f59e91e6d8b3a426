"""`ridgeline devices --on`: bounds where nothing was measured, times where somebody measured."""

from __future__ import annotations

import gzip
import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT, ridgeline
from example_entries import entry_with
from jsonschema import Draft202012Validator

MEMORY = {"P4": 8, "T4": 16, "H100": 80, "MI300X": 192}  # GB, of the data sheets
GIB = 1 << 30
SCHEMA = Draft202012Validator(json.loads((ROOT / "protocol/devices.schema.json").read_text("utf-8")))


def predict(linear_entry: Path, *arguments: str | Path, **environment: str) -> dict[str, Any]:
    done = ridgeline("devices", linear_entry, "--python", PYTHON, "--format", "json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    SCHEMA.validate(answer)
    return answer


def test_devices_without_data_get_bounds_and_the_cheapest_comes_first(linear_entry: Path) -> None:
    answer = predict(linear_entry, "--on", "h100,p4", "--price", "1000,0.01", "--dataset-size", "1000000")
    assert [device["name"] for device in answer["devices"]] == ["P4", "H100"]
    p4, h100 = (device["steps"] for device in answer["devices"])
    assert [step["batchSize"] for step in p4] == [16, 32, 64, 128]
    for slow, fast in zip(p4, h100, strict=True):
        assert slow["ms"]["value"] is None and slow["samplesPerSecond"]["low"] is None
        assert slow["ms"]["low"] > fast["ms"]["low"] > 0
        assert slow["costPerMillionSamples"] == slow["costPerEpoch"]
        assert slow["fits"] is True and slow["operations"]["measured"] == 0
    # x, weight, output, and gradients of weight and output, in float32.
    assert p4[0]["peakBytes"] >= 4 * (16 * 512 + 512 * 256)


@pytest.mark.parametrize(("example", "batch_size"), [("gpt", 6), ("dcgan", 48)])
def test_memory_on_a_gpu_is_what_it_reserved_there(example: str, batch_size: int, tmp_path: Path) -> None:
    """tests/data/allocator: what an H100 reserved for the same steps."""
    entry = entry_with(example, batch_size, tmp_path)
    with gzip.open(ROOT / f"tests/data/allocator/{example}-{batch_size}.txt.gz", "rt") as file:
        reserved = int(file.read().split()[-1])
    step = predict(entry, "--on", "h100")["devices"][0]["steps"][0]
    assert step["batchSize"] == batch_size
    low, high = step["heldBytes"]["low"] - 0.2 * GIB, step["heldBytes"]["high"] - 0.8 * GIB  # without the context
    assert low <= reserved <= high < 1.4 * low


def test_the_largest_batch_that_fits_grows_with_the_memory(linear_entry: Path) -> None:
    answer = predict(linear_entry, "--on", "p4,t4,h100,mi300x")
    largest = [device["largestBatch"] for device in sorted(answer["devices"], key=lambda one: MEMORY[one["name"]])]
    for less, more in itertools.pairwise(largest):
        assert 128 < less["low"] <= less["high"] < more["low"] <= more["high"]


def test_times_that_somebody_measured_are_used(linear_entry: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()  # a table of its own, and the agents of all
    (tmp_path / "cache/agents").symlink_to(Path(os.environ["RIDGELINE_CACHE"]) / "agents")
    cache = {"RIDGELINE_CACHE": str(tmp_path / "cache")}
    plan = ["operations", "plan", linear_entry, "--python", PYTHON, "--device", "Tesla T4", "--format", "json"]
    keys = json.loads(ridgeline(*plan, **cache).stdout)["missing"]
    table = tmp_path / "times.csv"
    rows = ['"{}",100,90,120'.format(key.replace('"', '""')) for key in keys]
    table.write_text("key,time_us,low,high\n" + "\n".join(rows) + "\n")
    done = ridgeline("operations", "import", table, "--format", "operations", "--device", "Tesla T4", **cache)
    assert done.returncode == 0, done.stderr
    step = predict(linear_entry, "--on", "T4", **cache)["devices"][0]["steps"][0]
    count = step["operations"]["measured"]
    assert count >= len(keys) and step["operations"]["bounded"] == 0
    assert step["ms"] == pytest.approx({"value": 0.1 * count, "low": 0.09 * count, "high": 0.12 * count})


def test_data_parallel_on_several_devices(linear_entry: Path, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.toml"
    cluster.write_text(
        '[[machine]]\nname = "node"\nranks = 8\n'
        '[[link]]\nfrom = "node"\nto = "node"\nlatency_us = 5\nbandwidth_gbit_s = 2400\n'
    )
    (device,) = predict(linear_entry, "--on", "h100", "--cluster", cluster)["devices"]
    assert [one["ranks"] for one in device["ranks"]] == [2, 4, 8]
    alone = device["steps"][0]
    for one in device["ranks"]:
        assert one["ms"]["low"] > alone["ms"]["low"] and one["ms"]["high"] is None
        assert one["samplesPerSecond"]["high"] == pytest.approx(1000 * 16 * one["ranks"] / one["ms"]["low"])
    trace = tmp_path / "trace.json"
    trace.write_text('{"traceEvents": []}')
    refused = ridgeline("devices", trace, "--on", "h100", "--cluster", cluster)
    assert refused.returncode == 2 and "--cluster needs an entry point" in refused.stderr


def test_a_device_that_is_not_known_is_refused(linear_entry: Path) -> None:
    done = ridgeline("devices", linear_entry, "--python", PYTHON, "--on", "abacus")
    assert done.returncode == 2
    assert "No device is called abacus. Name one of P4" in done.stderr


def test_a_price_may_stand_with_its_device(linear_entry: Path) -> None:
    """As in editors, which have the same reader of devices."""
    answer = predict(linear_entry, "--on", "h100=1000,p4=0.01")
    assert [(device["name"], device["pricePerHour"]) for device in answer["devices"]] == [("P4", 0.01), ("H100", 1000)]
    done = ridgeline("devices", linear_entry, "--on", "t4=cheap")
    assert done.returncode == 2 and "The price of t4=cheap is not a number: write a100=1.10." in done.stderr
