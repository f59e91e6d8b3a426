"""Scripts that compile run under `ridgeline profile` as they run alone: the same graphs, losses, weights, random state.
An entry point whose compilation does not settle says so."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import NO_GRAPH_CACHES, PYTHON, profile, ridgeline
from training_scripts import SINGLE, report_of, write

SCRIPT = Path(__file__).with_name("compiled_steps.py")
STEPS = "16"

MODEL_IN_COMPILED_CODE = """
    import torch

    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend="eager", fullgraph=True)
    def loss_of(x):
        return model(x).square().mean()

    for _ in range(60):
        optimizer.zero_grad()
        loss_of(torch.randn(16, 8)).backward()
        optimizer.step()
    """


@pytest.mark.long
def test_compiled_functions_that_compile_again_are_not_changed(tmp_path: Path) -> None:
    environment = {**SINGLE, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    options = ("--step-boundary", "optimizer", "--steps", "3", "--seconds", "0.1", "--python", PYTHON)
    recorded = ridgeline("profile", *options, SCRIPT, STEPS, **environment)
    assert recorded.returncode == 0, recorded.stderr
    assert "peak memory" in recorded.stderr
    alone = subprocess.run(
        [PYTHON, SCRIPT, STEPS],
        env={**os.environ, **environment, **NO_GRAPH_CACHES},
        capture_output=True,
        text=True,
        check=True,
    )
    assert recorded.stdout == alone.stdout


def test_the_weights_of_a_model_that_only_compiled_code_calls_are_known(tmp_path: Path) -> None:
    report = report_of(write(tmp_path, MODEL_IN_COMPILED_CODE), options=("--steps", "3", "--seconds", "0.1"))
    assert report["memory"]["byCategory"]["weights"] == 4 * (8 * 4 + 4)


# Each batch has another shape, and dynamic shapes are off.
ENTRY = """
import itertools
import torch

torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 10_000
lengths = itertools.count(8)


def model_provider():
    return torch.nn.Linear(4, 4)


def input_provider(batch_size=4):
    return (torch.randn(batch_size, 4),)


def iteration_provider(model):
    compiled = torch.compile(model, backend="eager", dynamic=False)

    def iteration(x):
        compiled(x.new_ones(next(lengths), 4)).sum().backward()

    return iteration
"""


def test_an_entry_point_that_compiles_in_every_step_has_not_settled(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(ENTRY)
    report = profile(entry, "--seconds", "0.1", "--batch-sizes", "4")
    assert any(text.startswith("torch.compile had not settled after 20 steps") for text in report["warnings"])
