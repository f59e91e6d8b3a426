"""`ridgeline job optimize`: the fastest strategy of a job that real torchrun and Gloo ran."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import PYTHON, ROOT, ridgeline
from job_file import network_text, read_job, write_job
from job_scripts import DDP, run_job, script_of
from training_scripts import number_of

# What each keeps of forward, two tensors of 400 KiB, is more than all of the model's parameters.
BLOCK = """
class Block(nn.Module):
    def forward(self, x):
        return x + x.repeat(1, 25).tanh().sigmoid().view(len(x), 25, -1).mean(1)


def act(step):"""
BLOCKS = DDP.replace("\ndef act(step):", BLOCK).replace("nn.ReLU(), ", "nn.ReLU(), Block(), Block(), ")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A script and its job."""
    folder = tmp_path_factory.mktemp("optimize")
    script, file = script_of(folder, BLOCKS), folder / "a.ridgeline-job"
    done = run_job(script, 350, "--steps", "8", "--job", str(file))
    assert done.returncode == 0, done.stderr
    return script, file


def optimized(file: Path, *options: str, code: int = 0) -> dict[str, Any]:
    done = ridgeline("job", "optimize", file, "--format", "json", *options)
    assert done.returncode == code, done.stderr
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, json.loads((ROOT / "protocol/optimize.schema.json").read_text("utf-8")))
    return answer


def changes(*names: str) -> list[str]:
    return [part for name in names for part in ("--change", name)]


def pays(answer: dict[str, Any]) -> bool:
    """Whether edits are worth showing: not where a busy machine made the job too slow for a strategy to matter."""
    return answer["predicted"][0]["speedUp"]["value"] >= 1.005


def test_the_best_is_no_slower_than_the_job_as_it_is(recorded: tuple[Path, Path]) -> None:
    script, file = recorded
    text = script.read_text()
    answer = optimized(file, *changes("accumulate:2", "accumulate:4", "compression:2"))
    best = answer["predicted"][0]
    assert answer["complete"] and answer["space"] == 13 * 3 * 2
    assert best["accumulate"] == 4, "nothing that is sent is free"
    assert best["stepMs"]["low"] <= best["stepMs"]["value"] <= min(best["stepMs"]["high"], answer["replayedMs"])
    steps = [one["stepMs"]["value"] for one in answer["predicted"]]
    assert steps == sorted(steps)
    assert any("which changes the training" in note for note in answer["notes"])
    assert script.read_text() == text, "nothing is written"


def test_the_edit_is_of_the_call_that_makes_the_buckets(recorded: tuple[Path, Path]) -> None:
    script, file = recorded
    answer = optimized(file)
    size = answer["predicted"][0]["bucketBytes"]
    if size is None or not pays(answer):
        assert answer["edits"] == []
        return
    edit = answer["edits"][0]
    call = "    model = DistributedDataParallel(net, bucket_cap_mb={})"
    assert edit["place"] == {
        "file": str(script), "line": number_of(script, "bucket_cap_mb=0.2"), "before": call.format(0.2)
    }  # fmt: skip
    assert edit["text"] == call.format(f"{size / 2**20:.4g}")


def test_text_says_what_is_predicted(recorded: tuple[Path, Path]) -> None:
    done = ridgeline("job", "optimize", recorded[1], *changes("accumulate:4"), "--seconds", "5")
    assert done.returncode == 0, done.stderr
    assert "Predicted: buckets" in done.stdout and "4 micro-batches" in done.stdout
    assert "model.no_sync()" in done.stdout


def test_memory_that_no_strategy_has(recorded: tuple[Path, Path]) -> None:
    answer = optimized(recorded[1], "--memory", "1KiB", code=1)
    assert answer["predicted"] == [] and answer["peakBytes"] > answer["memoryBytes"] == 1024
    assert "No strategy that was searched fits" in ridgeline("job", "optimize", recorded[1], "--memory", "1KiB").stdout


def test_forward_runs_again_where_memory_needs_it(recorded: tuple[Path, Path]) -> None:
    peak = optimized(recorded[1])["peakBytes"]
    assert all(one["recompute"] is None for one in optimized(recorded[1], "--memory", str(peak))["predicted"])
    limit = peak - 2**18
    answer = optimized(recorded[1], "--memory", str(limit))
    for one in answer["predicted"]:
        assert (one["recompute"]["class"], one["recompute"]["of"]) == ("Block", 2)
        assert len(one["recompute"]["modules"]) == 1, "one is enough"
        assert one["peakBytes"] <= limit
    assert "torch.utils.checkpoint" in answer["edits"][-1]["text"]
    shown = ridgeline("job", "optimize", recorded[1], "--memory", str(limit)).stdout
    assert "recomputing 1 of 2 Block" in shown and "is predicted from the blocks that forward kept" in shown


def test_pointwise_operations_are_fused_where_that_is_asked_for(recorded: tuple[Path, Path]) -> None:
    """The pointwise operations of Block."""
    assert not any(one["fused"] for one in optimized(recorded[1])["predicted"])
    answer = optimized(recorded[1], *changes("fuse-pointwise"))
    assert answer["warnings"] == [] and answer["space"] == 2 * 13
    assert all(one["fused"] and one["speedUp"]["low"] <= one["speedUp"]["value"] for one in answer["predicted"])
    assert any("torch.compile(model)" in edit["text"] for edit in answer["edits"]) == pays(answer)
    assert any("was not recorded" in note for note in answer["notes"])
    assert any("Buckets are not sent in parts" in note for note in answer["notes"])
    changed = ridgeline(
        "job", "show", recorded[1], "--change", "fuse-pointwise", "--change", "partition:4", "--format", "json"
    )
    fused, parts, _ = (one["stepMs"] for one in json.loads(changed.stdout)["predicted"])
    assert fused["low"] < fused["value"] < fused["high"] and parts["low"] <= parts["value"] <= parts["high"]


def test_sharding_needs_less_memory(recorded: tuple[Path, Path]) -> None:
    answer = optimized(recorded[1], *changes("zero:1", "zero:2", "bucket-size:1MiB"))
    assert answer["space"] == 2 + 2 + 2
    peaks = {one["sharding"]: one["peakBytes"] for one in answer["predicted"]}
    limit = answer["peakBytes"] - 1
    fits = optimized(recorded[1], *changes("zero:1", "zero:2"), "--memory", str(limit))
    sharded = [one for one in fits["predicted"] if one["sharding"]]
    assert sharded and all(one["peakBytes"] <= limit and one["recompute"] is None for one in sharded)
    assert all(peaks[stage] < answer["peakBytes"] for stage in peaks if stage > 0)
    assert any("stage 3 of ZeRO" in note for note in answer["notes"])
    refused = ridgeline("job", "optimize", recorded[1], *changes("zero:3"))
    assert refused.returncode == 2 and "zero:3: expected the stage of ZeRO, 1 or 2" in refused.stderr
    replayed = ridgeline("job", "show", recorded[1], *changes("zero:1"), "--format", "json")
    one = json.loads(replayed.stdout)["predicted"][0]
    assert one["stepMs"]["low"] <= one["stepMs"]["value"] <= one["stepMs"]["high"], "the search's, replayed alone"


HALF = {"select": {"phase": "forward"}, "do": "scale", "factor": 0.5}
OWN = {"title": "half of forward", "takes": "a cache", "steps": [HALF]}
OWN_IN_PYTHON = """
def change(tasks):
    chosen = [task["id"] for task in tasks if task["phase"] == "forward"]
    return {"title": "no forward", "steps": [{"select": {"tasks": chosen}, "do": "remove"}]}
"""


def test_a_change_of_ones_own_is_one_of_the_strategies(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    half, none = tmp_path / "half.json", tmp_path / "none.py"
    half.write_text(json.dumps(OWN))
    none.write_text(OWN_IN_PYTHON)
    files = ("--change-file", str(half), "--change-file", str(none), "--python", PYTHON)
    answer = optimized(recorded[1], *files, *changes("bucket-size:1MiB"))
    assert answer["space"] == 2 * 4
    best = answer["predicted"][0]
    assert "no forward" in best["own"] and best["speedUp"]["value"] > 1
    assert any(edit["text"].startswith("Your own change: ") for edit in answer["edits"])
    assert any("changes of your own do to the peak" in note for note in answer["notes"])
    half.write_text(json.dumps({**OWN, "steps": [{"select": {"name": "no such"}, "do": "remove"}]}))
    refused = ridgeline("job", "optimize", recorded[1], "--change-file", str(half))
    assert refused.returncode == 2 and "half of forward: rank 0: /steps/0: it selects nothing" in refused.stderr


def test_a_file_without_the_sizes_of_gradients(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    header = read_job(recorded[1])
    done = ridgeline("job", "optimize", write_job(tmp_path / "b.ridgeline-job", header))
    assert done.returncode == 2 and "The job cannot be optimised: rank 0: its recording" in done.stderr


ALL_REDUCE = {
    "bytes": [1024, 1048576, 16777216],
    "time_us": [100, 1100, 16100],
    "low_us": [90, 1000, 15000],
    "high_us": [110, 1200, 17000],
    "processor_us": [50, 500, 8000],
}


def test_what_was_measured_of_the_network_tells_the_latency(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    network = tmp_path / "cluster.toml"
    network.write_text(network_text(2, **ALL_REDUCE))
    answer = optimized(recorded[1], "--network", str(network))
    assert answer["complete"] and answer["predicted"][0]["stepMs"]["low"] <= answer["replayedMs"]
    changed = ridgeline("job", "show", recorded[1], "--network", network, "--change", "bandwidth:2", "--format", "json")
    # A broadcast among the recorded steps has one size.
    assert all("at the same time: broadcast" in note for note in json.loads(changed.stdout)["predicted"][0]["notes"])
    network.write_text(network_text(4, **ALL_REDUCE))
    done = ridgeline("job", "optimize", recorded[1], "--network", network)
    assert done.returncode == 2 and "has all-reduces of 4 ranks, and the job has 2" in done.stderr
    done = ridgeline("job", "show", recorded[1], "--network", tmp_path / "none.toml")
    assert done.returncode == 2 and "none.toml as the file of a cluster" in done.stderr
