"""`ridgeline job predict --cluster`: a job predicted from one process, with real torch."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest
import torch
from conftest import PYTHON, ridgeline
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))
from ridgeline_runner.changes import module_chain

ROOT = Path(__file__).resolve().parents[2]
ENTRY = """\
import torch

torch.set_num_threads(1)


def model_provider():
    return torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.BatchNorm1d(512), torch.nn.Linear(512, 10))


def input_provider(batch_size=16):
    return (torch.randn(batch_size, 256),)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def iteration(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()

    return iteration
"""
CLUSTER = """\
[[machine]]
name = "node"
count = 512
ranks = 2
cores = 4
[[link]]
from = "node"
to = "node"
latency_us = 5
bandwidth_gbit_s = 40
[network]
latency_us = 20
bandwidth_gbit_s = 1
"""
# Weights and biases, with those of the normalisation; float32.
GRADIENTS = 4 * (256 * 512 + 512 + 2 * 512 + 512 * 10 + 10)


def predict(tmp_path: Path, cluster: str, *options: str) -> tuple[int, str, str]:
    entry, file = tmp_path / "entry.py", tmp_path / "cluster.toml"
    entry.write_text(ENTRY)
    file.write_text(cluster)
    quick = ("--python", PYTHON, "--batch-sizes", "16", "--seconds", "0.5")
    done = ridgeline("job", "predict", entry, "--cluster", file, *quick, *options)
    return done.returncode, done.stdout, done.stderr


def changes(*names: str) -> list[str]:
    return [part for name in names for part in ("--change", name)]


def test_a_job_of_1024_ranks(tmp_path: Path) -> None:
    sizes = changes("bucket-size:1KiB", "bucket-size:1GiB", "no-overlap", "zero:1", "zero:3")
    code, output, errors = predict(tmp_path, CLUSTER, *sizes, "--format", "json")
    assert code == 0, errors
    job = json.loads(output)
    jsonschema.validate(job, json.loads((ROOT / "protocol" / "job_prediction.schema.json").read_text()))
    assert (job["ranks"], job["machines"], job["batchSize"]) == (1024, 512, 16)
    assert job["gradientBytes"] == GRADIENTS
    assert job["slowDown"] > 0.3, "two copies ran at once"
    assert not job["collectivesMeasured"]
    small, large, small_after, _, *sharded = job["predicted"]
    assert [(one["bucketBytes"], one["sharding"]) for one in sharded] == [
        (size, stage) for size in (1024, 2**30) for stage in (1, 3)
    ]
    state, weights = sharded[:2]
    assert 0 < weights["peakBytes"] < small["peakBytes"], "of 1,024 shards, one"
    assert weights["peakBytes"] < state["peakBytes"] <= small["peakBytes"]
    assert state["gathersMs"] > 0 == small["gathersMs"]
    # One unit, gathered twice; Gloo's gather takes 0.65 of an all-reduce.
    all_reduce = large["communicationMs"] - large["buffersMs"]
    assert sharded[3]["gathersMs"] == pytest.approx(2 * 0.65 * all_reduce)
    assert 0 < job["seconds"] < 60
    assert len(small["buckets"]) > 1 == len(large["buckets"])
    assert sum(bucket["bytes"] for bucket in small["buckets"]) == GRADIENTS
    assert small["buckets"][0]["firstParameter"].startswith("2."), "the last layer's gradients are ready first"
    # A ring of 1,024 ranks: 2,046 steps with the latency of the network, whatever is sent.
    assert large["communicationMs"] > 2046 * 0.02
    assert small["stepMs"]["value"] <= small_after["stepMs"]["value"]
    assert large["peakBytes"] == job["measured"]["peakBytes"] + GRADIENTS
    assert small["buffersMs"] > 0, "of the normalisation"


def test_a_pipeline_of_two_stages(tmp_path: Path) -> None:
    one_machine = CLUSTER.replace("count = 512", "count = 1")
    code, output, errors = predict(tmp_path, one_machine, *changes("pipeline:1", "pipeline:4"), "--format", "json")
    assert code == 0, errors
    job = json.loads(output)
    jsonschema.validate(job, json.loads((ROOT / "protocol" / "job_prediction.schema.json").read_text()))
    assert [(one["microBatches"], one["order"]) for one in job["pipelines"]] == [
        (count, order) for count in (1, 4) for order in ("1F1B", "GPipe")
    ]
    one, _, four, _ = job["pipelines"]
    for pipeline in job["pipelines"]:
        first, last = pipeline["stages"]
        assert first["firstModule"] == "0" and last["lastModule"] == "2"
        assert first["weightBytes"] + last["weightBytes"] == GRADIENTS
        assert first["sendsBytes"] == 4 * 16 * 512 and last["sendsBytes"] == 0
        step = pipeline["stepMs"]
        assert step["low"] <= step["value"] <= step["high"]
    assert one["idle"] > four["idle"], "the first micro-batch has all the way before it"
    assert one["stepMs"]["value"] < four["stepMs"]["value"] < 4 * one["stepMs"]["value"]


@pytest.mark.long
def test_a_pipeline_of_more_stages_than_modules(tmp_path: Path) -> None:
    code, _, errors = predict(tmp_path, CLUSTER.replace("count = 512", "count = 2"), *changes("pipeline:4"))
    assert code == 2
    assert "can be split at 2 places" in errors and "too few for 4 stages" in errors
    code, _, errors = predict(tmp_path, CLUSTER, *changes("pipeline:4"))
    assert code == 2 and "a pipeline of 1024 stages: at most 256 are predicted" in errors


class Parts(torch.nn.Module):
    """Two blocks in a list behind a first module, and a head that runs after a mean."""

    def __init__(
        self,
        skips: bool = False,
        in_place: bool = False,
        tied: bool = False,
        twice: bool = False,
        checkpoints: bool = False,
    ) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])
        self.unused = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(4, 4)
        if tied:
            self.head.weight = self.blocks[0].weight
        self.skips, self.in_place, self.twice, self.checkpoints = skips, in_place, twice, checkpoints

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = first = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True) if self.checkpoints else block(x)
        if self.skips:
            x = x + first
        if self.in_place:
            x += first
        if self.twice:
            x = self.first(x)
        return self.head(x * 2)


def splits_of(model: torch.nn.Module) -> list[str]:
    with torch.no_grad():
        model(torch.zeros(3, 4))  # as an evaluation between steps: not part of the chain
    chain = module_chain.chain([model], lambda: model(torch.zeros(3, 4)).sum().backward())
    assert all(size == 48 for _, size, _ in chain)
    return [path for path, _, may_split in chain if may_split]


def test_where_a_model_can_be_split() -> None:
    assert splits_of(Parts()) == ["first", "blocks.0", "blocks.1", "head"]
    nested = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 4)))
    assert splits_of(nested) == ["0", "1.0", "1.1"]
    for change in ({"skips": True}, {"in_place": True}):
        assert splits_of(Parts(**change)) == ["first", "head"], "the first output goes past the blocks"
    assert splits_of(Parts(tied=True)) == ["first", "head"], "a weight is used before and behind"
    assert splits_of(Parts(twice=True)) == [], "a module that is called twice"
    assert splits_of(Parts(checkpoints=True)) == ["first", "head"], "forward of the blocks keeps no graph"
    assert module_chain.chain([nested, nested], lambda: None) == []


def test_three_ranks_of_a_machine(tmp_path: Path) -> None:
    """As many copies of the step end, too; on fewer cores than ranks they take turns, and the answer says so."""
    cores = len(os.sched_getaffinity(0))
    cluster = CLUSTER.replace("count = 512\nranks = 2\ncores = 4", f"ranks = 3\ncores = {cores}")
    code, output, errors = predict(tmp_path, cluster, "--format", "json")
    assert code == 0, errors
    job = json.loads(output)
    assert job["ranks"] == 3
    assert any("take turns on cores" in text for text in job["notModelled"]) == (cores < 3)


def test_text_says_what_is_measured_and_predicted(tmp_path: Path) -> None:
    code, output, errors = predict(
        tmp_path, CLUSTER.replace("count = 512", "count = 1").replace("ranks = 2", "ranks = 1")
    )
    assert code == 0, errors
    assert "on 1 ranks" in output
    assert "Predicted: DistributedDataParallel's bucket sizes" in output
    assert "Not modelled" in output


def test_a_wrong_file_is_refused_before_anything_runs(tmp_path: Path) -> None:
    code, _, errors = predict(tmp_path, CLUSTER + "bandwith = 3\n")
    assert code == 2
    assert 'cluster.toml:14:12: "bandwith" is no key of this table' in errors
    assert "Starting" not in errors
