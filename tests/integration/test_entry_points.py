"""Entry points as people write them: names, models, inputs, files around them. Several features to a profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import PYTHON, profile, ridgeline

PROJECT = {"pyproject.toml": ""}

# Names of Skyline, two models in a tuple, and everything that an entry file may do while it is imported.
SKYLINE = {
    "my project/modell-größe 2.py": """
import argparse, logging, os, sys
import torch
from blocks import Block
from layers.wide import Wide
from shared import helpers  # at the project's root

print("this goes nowhere harmful")
logging.basicConfig(level=logging.DEBUG)
logging.getLogger(__name__).warning("neither does this")
parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=8)
args = parser.parse_args()
WIDTH = int(open("data/width.txt").read())  # relative to the entry file
assert WIDTH == int(open(os.path.join(os.path.dirname(__file__), "data", "width.txt")).read())
assert sys.stdin.read() == ""

def unrelated():
    raise AssertionError("nobody calls this")

def skyline_model_provider():
    return Block(args.width), Wide(WIDTH)

def skyline_input_provider(batch_size=4):
    return torch.randn(batch_size, 8), helpers.targets(batch_size)

def skyline_iteration_provider(block, wide):
    optimizer = torch.optim.SGD([*block.parameters(), *wide.parameters()], lr=0.1)
    def iteration(*inputs):
        optimizer.zero_grad()
        (wide(block(inputs[0])) - inputs[1]).square().mean().backward()
        optimizer.step()
    return iteration

if __name__ == "__main__":
    raise AssertionError("a profile is not the main program")
""",
    "my project/blocks.py": """
import torch
class Block(torch.nn.Linear):
    def __init__(self, n):
        super().__init__(n, n)
""",
    "my project/layers/__init__.py": "",
    "my project/layers/wide.py": "from blocks import Block\nclass Wide(Block):\n    pass\n",
    "my project/data/width.txt": "8\n",
    "shared/helpers.py": "import torch\ndef targets(n): return torch.randn(n, 8)\n",
}

# Names of DeepView, models in a dictionary, and inputs in every kind of container.
DEEPVIEW = {
    "entry.py": """
import collections, dataclasses, typing
import torch

class Pair(typing.NamedTuple):
    left: torch.Tensor
    right: list

@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: torch.Tensor
    pair: Pair

class Slotted:
    __slots__ = ("value", "unset", "__weakref__")
    def __init__(self, value): self.value = value

class Output(collections.OrderedDict):  # as libraries of language models have it
    def __init__(self, **fields):
        super().__init__(fields)
        self.__dict__.update(fields)

class Read(collections.abc.Mapping):
    def __init__(self, **fields): self._fields = fields
    def __getitem__(self, key): return self._fields[key]
    def __iter__(self): return iter(self._fields)
    def __len__(self): return len(self._fields)

class Hostile:
    @property
    def __dict__(self): raise RuntimeError("hands off")

def deepview_model_provider():
    return {"first": torch.nn.Linear(4, 4), "second": torch.nn.Linear(4, 4)}

def deepview_input_provider(batch_size=3):
    x = torch.ones(batch_size, 4)                                    # 48 bytes
    frozen = Frozen(x, Pair(torch.ones(10), [torch.ones(20), {"deep": (torch.ones(30),)}]))  # + 240
    mappings = Output(a=torch.ones(40)), collections.UserDict(b=torch.ones(50)), Read(c=torch.ones(60))  # + 600
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3, 8), torch.ones(3, 8)])  # + 192 + 24
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)  # + 80 + 24
    return frozen, mappings, Slotted(torch.ones(70)), collections.deque([packed]), nested, Hostile()  # + 280

def deepview_iteration_provider(second, first):  # by keyword
    def iteration(frozen, mappings, slotted, packed, nested, hostile):
        for model in (first, second):
            model.zero_grad()
        second(first(frozen.x)).sum().backward()
    return iteration
""",
}

# An entry in a package, with the name of an installed module that it imports; a list of models; a generator of inputs.
PACKAGE = {
    "nets/__init__.py": "LOADED = []\n",
    "nets/zoo/__init__.py": "from .. import LOADED\nLOADED.append(__name__)\n",
    "nets/zoo/model.py": "import torch\nclass Net(torch.nn.Linear):\n    pass\n",
    "nets/zoo/torch.py": """
from __future__ import annotations
import torch
import torch.nn as nn
from . import model
from .. import LOADED
from ..common import size

assert LOADED == ["nets.zoo"] and __package__ == "nets.zoo"

def ridgeline_model_provider():
    return [model.Net(size, size)]

def ridgeline_input_provider(batch_size=2):
    yield torch.ones(batch_size, size)

def ridgeline_iteration_provider(net):
    def iteration(x):
        net.zero_grad()
        nn.functional.mse_loss(net(x), x).backward()
    return iteration
""",
    "nets/common.py": "size = 16\n",
}

# As Skyline's and DeepView's manuals have it, on CUDA; in a file with the name of a program.
MANUAL = {
    "__main__.py": """
import torch
import torch.nn as nn
from test.model import Model  # a folder with the name of a module of Python's own

DEVICE = torch.device("cuda")

class ModelWithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Model()
        self.loss_fn = nn.CrossEntropyLoss()

    def forward(self, input, target):
        return self.loss_fn(self.model(input), target)

def skyline_model_provider():
    return ModelWithLoss().cuda()

def deepview_input_provider(batch_size=4):
    return (
        torch.randn((batch_size, 3, 8, 8)).cuda(),
        torch.randint(low=0, high=9, size=(batch_size,), device=DEVICE),
    )

def skyline_iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    def iteration(*inputs):
        optimizer.zero_grad()
        out = model(*inputs)
        out.backward()
        optimizer.step()
    return iteration

if __name__ == "__main__":
    raise AssertionError("a profile is not the main program")
""",
    "test/__init__.py": "",
    "test/model.py": "from torch import nn\n"
    "class Model(nn.Sequential):\n    def __init__(self): super().__init__(nn.Flatten(), nn.Linear(192, 9))\n",
}


@dataclass
class Case:
    files: dict[str, str]
    entry: str
    batch_size: int
    input_bytes: int
    modules: set[str]
    options: list[str] = field(default_factory=list)


CASES = {
    "skyline": Case(SKYLINE, "my project/modell-größe 2.py", 4, 2 * 4 * 8 * 4, {"Block[0]", "Wide[1]"}),
    "deepview": Case(DEEPVIEW, "entry.py", 3, 48 + 240 + 600 + 216 + 104 + 280, {"Linear[first]", "Linear[second]"}),
    "package": Case(PACKAGE, "nets/zoo/torch.py", 2, 2 * 16 * 4, {"Net"}),
    "manual": Case(MANUAL, "__main__.py", 4, 4 * 192 * 4 + 4 * 8, {"ModelWithLoss"}, ["--device", "cpu"]),
}


def write(files: dict[str, str], root: Path) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")


@pytest.mark.parametrize("name", CASES)
def test_entry_points_run_as_they_are(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    write({**PROJECT, **case.files}, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    report = profile(tmp_path / case.entry, "--seconds", "0.2", "--batch-sizes", "5", *case.options)
    assert report["entry"]["batchSize"] == case.batch_size
    assert report["entry"]["projectRoot"] == str(tmp_path)
    assert report["memory"]["byCategory"]["inputs"] == case.input_bytes
    assert {child["name"] for child in report["breakdown"]["children"] if child["type"]} == case.modules
    assert {line["file"] for line in report["lines"]} <= set(case.files)
    assert sorted(tmp_path.rglob("*")) == before  # nothing is written beside the user's files


MISTAKES = {
    "relative import without a package": (
        "import torch\n\nfrom .model import Net\n\nmodel_provider = input_provider = iteration_provider = Net\n",
        "entry.py:3: error: `from .model import` needs a package around the entry file: put an empty __init__.py into",
    ),
    "arguments that are needed": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('data')\nparser.parse_args()\n"
        "model_provider = input_provider = iteration_provider = None\n",
        "the following arguments are required: data",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_say_what_to_do(mistake: str, tmp_path: Path) -> None:
    source, words = MISTAKES[mistake]
    entry = tmp_path / "entry.py"
    entry.write_text(source)
    done = ridgeline("profile", entry, "--python", PYTHON)
    assert done.returncode == 1
    assert words in done.stderr
