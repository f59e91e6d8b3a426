"""The memory ledger against real runs: the peak at batch sizes that were not sampled, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, profile


def measured(report: dict[str, Any]) -> dict[int, int]:
    return {sample["batchSize"]: sample["peakBytes"] for sample in report["models"]["memory"]["samples"]}


def sampled(entry: Path, sizes: str) -> dict[str, Any]:
    return profile(entry, "--seconds", "0.1", "--batch-sizes", sizes)


def at(pieces: list[dict[str, float]], batch_size: int) -> int:
    piece = [piece for piece in pieces if piece["fromBatchSize"] <= batch_size][-1]
    return round(piece["interceptBytes"] + piece["slopeBytes"] * batch_size)


def test_the_peak_of_a_linear_step_is_known_to_the_byte() -> None:
    entry = ROOT / "examples" / "mlp" / "entry.py"
    report = sampled(entry, "32,64,128")
    peak = report["models"]["memory"]["peak"]
    assert peak["checked"] and peak["notLinear"] == 0, peak["largestNotLinear"]
    assert peak["low"] == peak["high"] == []
    for batch_size, real in {**measured(report), **measured(sampled(entry, "1,50,200,512"))}.items():
        assert at(peak["value"], batch_size) == real, batch_size


ACCUMULATES = """import torch
from torch import nn


def model_provider():
    return nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 8))


def input_provider(batch_size=16):
    return (torch.ones(batch_size, 64),)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def iteration(data):
        optimizer.zero_grad()
        for part in data.chunk(4):
            model(part).mean().backward()
        optimizer.step()

    return iteration
"""


def test_the_peak_of_accumulated_gradients_is_that_of_the_largest_part(tmp_path: Path) -> None:
    """13 is divided as 16 is, into parts of 4; nothing in 8, 16 and 32 shows that."""
    entry = tmp_path / "entry.py"
    entry.write_text(ACCUMULATES)
    options = ("--seconds", "0.1", "--batch-sizes", "8,16,32", "--check-sizes", "13,29,53,60")
    report = profile(entry, *options)
    assert report["models"]["memory"]["peak"]["partsOfBatch"] == 4
    for check in report["checks"]:
        predicted = check["predicted"]["peakBytes"]
        low, high = (predicted["interval"][end] for end in ("low", "high"))
        assert low <= check["peakBytes"] <= high, check
        more = -check["batchSize"] % 4
        assert (low < high) == (more > 0), "the batch may not be divided"
        assert predicted["value"] - check["peakBytes"] == 4 * 64 * more, "all but the input, which is not divided"


@pytest.mark.long
def test_the_peak_of_a_step_with_workspaces_lies_in_its_interval() -> None:
    entry = ROOT / "examples" / "lstm_accumulate" / "entry.py"
    report = sampled(entry, "8,16,24")
    peak = report["models"]["memory"]["peak"]
    assert 0 < peak["notLinear"] < peak["allocations"] / 10
    assert peak["largestNotLinear"][0]["location"]["file"] == "examples/lstm_accumulate/entry.py"
    for batch_size, real in measured(report).items():
        assert at(peak["value"], batch_size) == real, batch_size
    for batch_size, real in measured(sampled(entry, "4,12")).items():
        if batch_size in (4, 12):
            assert at(peak["low"], batch_size) <= real <= at(peak["high"], batch_size), batch_size
