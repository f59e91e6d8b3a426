"""The models of `./dev bench accuracy`: each has its entry point, and runs where its packages are installed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from accuracy import CASES, MODELS, MODELS_PYTHON, ROOT

LIBRARIES = {
    "hf_bert": ("transformers",),
    "hf_llama": ("transformers",),
    "peft_lora": ("transformers", "peft"),
    "lightning_cnn": ("lightning",),
    "pyg_gcn": ("torch_geometric",),
}

# One training iteration of a batch of 3; what it says last is how many of the trained parameters moved.
ONE_ITERATION = """
import sys
sys.path.insert(0, "tests/integration")
import torch
from observe_peak import load
torch.set_num_threads(1)
entry = load(sys.argv[1])
model = entry.model_provider()
step = entry.iteration_provider(model)
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
before = [parameter.detach().clone() for parameter in trained]
for _ in range(2):  # the first moves only one half of LoRA's adapters: the other one begins at zero
    step(*entry.input_provider(batch_size=3))
print(sum(not torch.equal(old, new) for old, new in zip(before, trained)), "of", len(trained))
"""


def pinned(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)==(\S+)$", path.read_text(), re.MULTILINE))


def test_every_model_has_an_entry_point_and_every_entry_point_is_measured() -> None:
    assert all(model.entry.is_file() for model in CASES.values())
    folders = {path.parent.name for path in MODELS.glob("*/entry.py")}
    assert folders == set(LIBRARIES) == {name for name, model in CASES.items() if model.python == MODELS_PYTHON}


def test_packages_are_pinned_and_bring_no_other_torch() -> None:
    path = ROOT / "tests" / "bench" / "requirements.txt"
    wanted = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert len(pinned(path)) == len(wanted)
    assert pinned(path)["torch"] == pinned(ROOT / "requirements.txt")["torch"]


@pytest.mark.parametrize("name", LIBRARIES)
def test_model_trains(name: str) -> None:
    if not MODELS_PYTHON.exists():
        pytest.skip(f"{' and '.join(LIBRARIES[name])}: not installed; `./dev bench accuracy` does it")
    done = subprocess.run(
        [MODELS_PYTHON, "-c", ONE_ITERATION, CASES[name].entry],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    moved, trained = done.stdout.splitlines()[-1].split(" of ")
    assert int(moved) >= 0.9 * int(trained) > 0
