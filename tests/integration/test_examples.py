"""Every example: the report is valid, its figures add up, and the peak is the one that another observer counts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT

EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))
PHASES = ("forward", "backward", "recomputation", "optimizer", "data", "other")
Reports = Callable[[str], dict[str, Any]]


@pytest.fixture(params=EXAMPLES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_report_is_valid(name: str, example_report: Reports, schema: dict[str, Any]) -> None:
    jsonschema.validate(example_report(name), schema)


def test_lines_and_other_items_add_up_to_the_iteration(name: str, example_report: Reports) -> None:
    report = example_report(name)
    total = sum(line["timeMs"]["self"] for line in report["lines"]) + sum(item["timeMs"] for item in report["other"])
    assert total == pytest.approx(report["iteration"]["timeMs"], rel=0.001)


def test_phases_of_each_line_add_up_to_its_self_time(name: str, example_report: Reports) -> None:
    for line in example_report(name)["lines"]:
        time = line["timeMs"]
        phases = sum(time[phase] for phase in PHASES)
        assert phases == pytest.approx(time["self"], rel=1e-9, abs=1e-9)
        assert time["total"] >= time["self"] * (1 - 1e-9)


def test_user_lines_own_at_least_95_percent(name: str, example_report: Reports) -> None:
    assert example_report(name)["closure"]["userLineShare"] >= 0.95


def test_categories_and_lines_add_up_to_the_peak_exactly(name: str, example_report: Reports) -> None:
    report = example_report(name)
    peak = report["memory"]["peakBytes"]
    assert sum(report["memory"]["byCategory"].values()) == peak
    on_lines = sum(line["memoryBytes"]["atPeak"] for line in report["lines"])
    assert on_lines + sum(item["bytes"] for item in report["other"]) == peak


def test_breakdown_nodes_are_the_sum_of_their_children(name: str, example_report: Reports) -> None:
    report = example_report(name)

    def check(node: dict[str, Any]) -> None:
        if node["children"]:
            assert sum(child["timeMs"] for child in node["children"]) == pytest.approx(node["timeMs"], rel=1e-6)
            assert sum(child["bytes"] for child in node["children"]) == node["bytes"]
        for child in node["children"]:
            check(child)

    check(report["breakdown"])
    assert report["breakdown"]["timeMs"] == pytest.approx(report["iteration"]["timeMs"], rel=0.001)
    assert report["breakdown"]["bytes"] == report["memory"]["peakBytes"]


def test_peak_is_what_another_observer_counts(name: str, example_report: Reports) -> None:
    report = example_report(name)
    entry = ROOT / "examples" / name / "entry.py"
    observer = Path(__file__).with_name("observe_peak.py")
    for sample in report["models"]["memory"]["samples"]:
        counted = subprocess.run(
            [sys.executable, observer, entry, str(sample["batchSize"])], capture_output=True, text=True, check=True
        )
        assert sample["peakBytes"] == int(counted.stdout.split()[-1]), f"batch size {sample['batchSize']}"


def test_three_batch_sizes_are_sampled_the_users_among_them(name: str, example_report: Reports) -> None:
    report = example_report(name)
    sizes = [sample["batchSize"] for sample in report["models"]["time"]["samples"]]
    assert len(set(sizes)) >= 3
    assert report["entry"]["batchSize"] in sizes


def test_resnet_separates_its_layers_and_places_them(example_report: Reports) -> None:
    report = example_report("resnet50")
    (model,) = [child for child in report["breakdown"]["children"] if child["type"] == "ResNet"]
    layers = {child["name"]: child for child in model["children"] if child["name"].startswith("layer")}
    assert sorted(layers) == ["layer1", "layer2", "layer3", "layer4"]
    blocks = [child for child in layers["layer3"]["children"] if child["type"] == "Bottleneck"]
    assert sorted(block["name"] for block in blocks) == ["0", "1", "2", "3", "4", "5"]
    source = (ROOT / "examples" / "resnet50" / "resnet.py").read_text().splitlines()
    assert source[blocks[0]["definition"]["line"] - 1].startswith("class Bottleneck")
    assert "self.layer3" in source[layers["layer3"]["location"]["line"] - 1]


def test_resnet_counts_its_calls(example_report: Reports) -> None:
    report = example_report("resnet50")
    source = (ROOT / "examples" / "resnet50" / "resnet.py").read_text().splitlines()
    calls = {
        source[row["line"] - 1].strip(): row["calls"] for row in report["lines"] if row["file"].endswith("resnet.py")
    }
    assert calls["out = self.conv2(out)"] == 16
    assert calls["x = self.conv1(images)"] == 1
