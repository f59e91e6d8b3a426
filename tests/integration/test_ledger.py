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
