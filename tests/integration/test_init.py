"""`ridgeline init`: an entry point from a training script, which profiles without an edit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PYTHON, ROOT, profile, ridgeline

SCRIPTS = ROOT / "tests" / "data" / "entry_points"

PLAIN = """
import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.hidden = nn.Linear(features, 64)
        self.out = nn.Linear(64, classes)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def train(args, net, loader, opt, device):
    net.train()
    for index, (samples, labels) in enumerate(loader):
        samples, labels = samples.to(device), labels.to(device)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(samples), labels)
        loss.backward()
        opt.step()
        if index % args.log_interval == 0:
            print(loss.item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=48)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--log-interval", type=int, default=5)
    args = parser.parse_args()
    device = torch.device("cpu")
    data = TensorDataset(torch.randn(100, 32), torch.randint(10, (100,)))
    model = Classifier(32, classes=10).to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True)
    open("ran", "w").close()
    train(args, model, loader, optimizer, device)


if __name__ == "__main__":
    main()
"""

TRANSFORMER = """
import torch
from torch import nn

batch_size = 4
VOCABULARY = 50
LENGTH = 12


class Translator(nn.Module):
    def __init__(self, vocabulary, width=32):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(width, 2, 1, 1, 64, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, source, target):
        return self.head(self.transformer(self.embedding(source), self.embedding(target)))


def get_batch():
    tokens = torch.randint(VOCABULARY, (batch_size, LENGTH))
    return tokens, tokens.flip(1)


open("ran", "w").close()
model = Translator(VOCABULARY)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1000):
    source, target = get_batch()
    logits = model(source, target[:, :-1])
    loss = criterion(logits.flatten(0, 1), target[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""


@pytest.mark.parametrize(("script", "batch_size"), [(PLAIN, 48), (TRANSFORMER, 4)], ids=["plain", "transformer"])
def test_an_entry_point_profiles_as_it_was_written(script: str, batch_size: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(script)
    done = ridgeline("init", tmp_path / "train.py")
    assert done.returncode == 0, done.stderr
    assert "wrote" in done.stderr and "to fill in" not in done.stderr
    report = profile(tmp_path / "entry.py", "--seconds", "1")
    assert report["entry"]["batchSize"] == batch_size
    assert not [warning for warning in report["warnings"] if "batch_size" in warning or "backward" in warning]
    assert not (tmp_path / "ran").exists(), "neither init nor the entry point may run the script's training"


def test_a_gan_profiles_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "gan.py").write_text((SCRIPTS / "gan.py").read_text())
    assert ridgeline("init", tmp_path / "gan.py").returncode == 0
    assert profile(tmp_path / "entry.py", "--seconds", "1")["entry"]["batchSize"] == 32


# Runs entry files: what changes the weights in two iterations, and how many samples the loss has seen in one.
RUN_ENTRIES = """
import importlib, json, sys, torch
sys.path.insert(0, ".")
sys.argv = ["entry.py"]
samples = 0
def count(module, arguments):
    global samples
    samples += len(arguments[0])
result = {}
for name in sys.stdin.read().split():
    entry = importlib.import_module("entry_" + name)
    model = entry.model_provider()
    model.register_forward_pre_hook(count)
    size = entry.input_provider.__defaults__[0]
    inputs = entry.input_provider()
    iteration = entry.iteration_provider(model)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    samples = 0
    iteration(*inputs)
    seen = samples
    iteration(*inputs)
    changed = any(not torch.equal(a, b) for a, b in zip(before, model.parameters()))
    more = entry.input_provider(2 * size)
    samples = 0
    iteration(*more)
    result[name] = [size, seen, samples, changed]
print(json.dumps(result))
"""


def test_what_is_written_trains_on_as_many_samples_as_the_script(tmp_path: Path) -> None:
    # nested_functions: LBFGS evaluates its closure more than once for each step.
    sizes = {"micro_batches": 24, "autoencoder": 96, "backward_hooks": 24, "slices": 50, "own_updates": 28}
    for name in sizes:
        (tmp_path / f"{name}.py").write_text((SCRIPTS / f"{name}.py").read_text())
        done = ridgeline("init", tmp_path / f"{name}.py", "--output", tmp_path / f"entry_{name}.py")
        assert done.returncode == 0 and "to fill in" not in done.stderr, done.stderr
    (tmp_path / "entry_autoencoder.py").write_text(
        (tmp_path / "entry_autoencoder.py").read_text().replace("from autoencoder import", "from model import")
    )
    without_data = (SCRIPTS / "autoencoder.py").read_text().replace("from torchvision import datasets, transforms", "")
    kept = [line for line in without_data.split("loader = ")[0].splitlines()]
    rest = without_data[without_data.index("class VAE") :].split("def train")[0]
    (tmp_path / "model.py").write_text("\n".join(kept) + "\n" + rest)
    done = subprocess.run(
        [PYTHON, "-c", RUN_ENTRIES], cwd=tmp_path, input=" ".join(sizes), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for name, (size, seen, twice, changed) in json.loads(done.stdout).items():
        assert (size, seen, twice, changed) == (sizes[name], size, 2 * size, True), name


def test_what_is_written_can_be_tried(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text((SCRIPTS / "nested_functions.py").read_text())
    done = ridgeline("init", tmp_path / "train.py", "--try", "--python", PYTHON)
    assert done.returncode == 0 and "tried: an iteration with batch size 40 takes" in done.stderr, done.stderr
    (tmp_path / "broken.py").write_text((SCRIPTS / "slices.py").read_text().replace("Linear(64, 3)", "Linear(65, 3)"))
    done = ridgeline("init", tmp_path / "broken.py", "--try", "--python", PYTHON)
    assert done.returncode == 1 and "shapes cannot be multiplied" in done.stderr


@pytest.mark.parametrize("expected", sorted((SCRIPTS / "expected").glob("*.py")), ids=lambda path: path.stem)
def test_python_compiles_what_the_unit_tests_expect(expected: Path) -> None:
    compile(expected.read_text(), str(expected), "exec")


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(PLAIN)
    (tmp_path / "entry.py").write_text("mine")
    (tmp_path / "entry_2.py").symlink_to("nowhere")
    done = ridgeline("init", script)
    assert done.returncode == 0 and (tmp_path / "entry_3.py").is_file()
    assert "entry_3.py" in done.stderr
    done = ridgeline("init", script, "--output", tmp_path / "entry.py")
    assert done.returncode == 2 and "is not replaced" in done.stderr
    assert (tmp_path / "entry.py").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_elsewhere_nothing_is_imported_from_the_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PLAIN)
    (tmp_path / "other").mkdir()
    entry = tmp_path / "other" / "profile_entry.py"
    assert ridgeline("init", tmp_path / "train.py", "--output", entry).returncode == 0
    assert "class Classifier" in entry.read_text() and "import Classifier" not in entry.read_text()


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        (None, 2, "cannot read"),
        ("x = 1\n", 1, "defines no model"),
        ("def f(:\n", 1, "syntax error"),
        ("def model_provider(): pass\n", 1, "an entry point already"),
    ],
)
def test_a_script_that_is_of_no_use_is_refused(text: str | None, code: int, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "train.py").write_text(text)
    done = ridgeline("init", tmp_path / "train.py")
    assert done.returncode == code and why in done.stderr
    assert not (tmp_path / "entry.py").exists()


def test_what_is_written_has_no_undefined_names() -> None:
    ruff = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "F821",
        "--output-format",
        "concise",
    ]
    done = subprocess.run([*ruff, SCRIPTS / "expected"], capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if "F821" in line]
    # No call of the script gives `weights` a value: a TODO says so.
    assert [line for line in found if "library.py" not in line] == []
    assert len(found) == 1, "a name that is missing is found"
