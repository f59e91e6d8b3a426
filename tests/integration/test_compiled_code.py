"""Code that torch.compile generates: its time and memory on the lines and modules that it came from, graph breaks and
recompilations with their reasons, of entry points and of scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, profile, ridgeline
from jsonschema import Draft202012Validator

NET = """
import torch
from torch import nn

functional = nn.functional


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        hidden = self.norm(x)  # norm
        hidden = self.up(hidden)  # up
        hidden = functional.gelu(hidden)  # gelu
        hidden = torch.tanh(hidden)  # tanh
        hidden = self.down(hidden)  # down
        return x + hidden  # residual


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(128), Block(128))
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        x = self.blocks(x)  # blocks
        return self.head(x)  # head


factor = 1


def loss_of(model, x):
    logits = model(x)
    total = logits.sum().item()  # item
    return (logits * factor).square().mean()  # loss
"""

ENTRY = """
import net
import torch


def model_provider():
    return {wrapped}


def input_provider(batch_size=96):
    return (torch.randn(batch_size, 32, 128),)


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    {loss}

    def iteration(x):
        loss = loss_of(model, x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return iteration
"""
EAGER = "loss_of = lambda model, x: model(x).square().mean()"

SCRIPT = """
import net
import torch

model = net.Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
loss_of = torch.compile(net.loss_of, dynamic=True)
for step in range(60):
    net.factor = 1 if step < 1 else 2
    loss = loss_of(model, torch.randn(96 + 8 * (step % 3), 32, 128))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def line_of(mark: str) -> int:
    return next(number for number, text in enumerate(NET.splitlines(), 1) if text.endswith(f"# {mark}"))


def written(folder: Path, wrapped: str, loss: str = EAGER) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "net.py").write_text(NET)
    (folder / "entry.py").write_text(ENTRY.format(wrapped=wrapped, loss=loss))
    return folder / "entry.py"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    entry = written(tmp_path_factory.mktemp("compiled"), "torch.compile(net.Net())")
    return profile(entry, "--batch-sizes", "96", "--seconds", "0.2")


def own_ms(report: dict[str, Any]) -> dict[tuple[str, int], float]:
    return {(line["file"], line["line"]): line["timeMs"]["self"] for line in report["lines"]}


def nodes_below(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node] + [inner for child in node["children"] for inner in nodes_below(child)]


def test_generated_code_is_on_the_lines_it_came_from(compiled: dict[str, Any], schema: dict[str, Any]) -> None:
    Draft202012Validator(schema).validate(compiled)
    own = own_ms(compiled)
    whole = sum(own.values()) + sum(item["timeMs"] for item in compiled["other"])
    assert whole == pytest.approx(compiled["iteration"]["timeMs"])
    at_peak = sum(line["memoryBytes"]["atPeak"] for line in compiled["lines"])
    assert at_peak + sum(item["peakBytes"] for item in compiled["other"]) == compiled["memory"]["peakBytes"]
    marks = ("norm", "up", "gelu", "tanh", "down", "residual", "head")
    assert all(own[("net.py", line_of(mark))] > 0 for mark in marks)
    (call,) = [line for line in compiled["lines"] if line["text"].startswith("loss = loss_of")]
    in_model = sum(ms for (file, _), ms in own.items() if file == "net.py")
    assert in_model >= 0.95 * call["timeMs"]["total"]


def test_backward_and_memory_are_there_too(compiled: dict[str, Any]) -> None:
    lines = {line["line"]: line for line in compiled["lines"] if line["file"] == "net.py"}
    for mark in ("up", "gelu", "down"):
        assert lines[line_of(mark)]["timeMs"]["backward"] > 0, mark
    # Two blocks keep what goes into gelu or comes out of it: 96 × 32 × 512 floats.
    kept = sum(lines[line_of(mark)]["memoryBytes"]["activations"] for mark in ("up", "gelu", "tanh"))
    assert kept >= 2 * 96 * 32 * 512 * 4


def test_modules_stay_modules(compiled: dict[str, Any]) -> None:
    nodes = nodes_below(compiled["breakdown"])
    blocks = [node for node in nodes if node["type"] == "Block"]
    assert len(blocks) == 2
    for block in blocks:
        assert {child["type"] for child in block["children"]} >= {"LayerNorm", "Linear"}
        assert block["timeMs"] == pytest.approx(sum(child["timeMs"] for child in block["children"]))
    assert any(node["type"] == "Linear" and node["name"].endswith("head") for node in nodes)


def test_parts_of_fused_kernels_say_so(compiled: dict[str, Any]) -> None:
    parts = [node for node in nodes_below(compiled["breakdown"]) if node["name"].endswith("(divided)")]
    by_name: dict[str, set[int]] = {}
    for part in parts:
        by_name.setdefault(part["name"], set()).add(part["location"]["line"])
    # gelu and tanh are one loop.
    assert any({line_of("gelu"), line_of("tanh")} <= lines for lines in by_name.values())


def test_the_costliest_lines_are_those_without_the_compiler(compiled: dict[str, Any], tmp_path: Path) -> None:
    eager = profile(written(tmp_path, "net.Net()"), "--batch-sizes", "96", "--seconds", "0.2")
    assert eager.get("compilation") is None
    products = {("net.py", line_of("up")), ("net.py", line_of("down"))}
    for own in (own_ms(eager), own_ms(compiled)):  # most time first
        assert products <= set([place for place in own if place[0] == "net.py"][:3])


def test_graph_breaks_and_recompilations_have_reasons(tmp_path: Path) -> None:
    entry = written(
        tmp_path,
        "net.Net()",
        "compiled = torch.compile(net.loss_of)\n    calls = [0]\n\n    def loss_of(model, x):\n"
        "        calls[0] += 1\n        net.factor = min(calls[0], 2)\n        return compiled(model, x)",
    )
    report = profile(entry, "--batch-sizes", "96", "--seconds", "0.2")
    found = report["compilation"]
    breaks = {(one["file"], one["line"]): one["reason"] for one in found["breaks"]}
    assert "item" in breaks[("net.py", line_of("item"))]
    assert sum(one["seconds"] for one in found["functions"]) > 0
    assert all(one["count"] >= 1 and one["guards"] >= 1 for one in found["functions"])
    reasons = [reason for one in found["functions"] for reason in one["reasons"]]
    assert reasons and all(reason.strip() and "\n" not in reason for reason in reasons)
    text = ridgeline("profile", entry, "--python", PYTHON, "--batch-sizes", "96", "--seconds", "0.2").stdout
    assert "graph break" in text and "recompiled" in text and "net.py:" + str(line_of("item")) in text


def test_a_script_has_them_as_well(tmp_path: Path) -> None:
    written(tmp_path, "net.Net()")
    (tmp_path / "train.py").write_text(SCRIPT)
    options = ("--format", "json", "--output", str(tmp_path / "report.json"))
    done = ridgeline("profile", "--python", PYTHON, *options, tmp_path / "train.py")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    own = own_ms(report)
    assert all(own[("net.py", line_of(mark))] > 0 for mark in ("up", "gelu", "down", "head"))
    assert {node["type"] for node in nodes_below(report["breakdown"])} >= {"Block", "LayerNorm", "Linear"}
    assert [one["line"] for one in report["compilation"]["breaks"]] == [line_of("item")]
    # Nothing that was done to know it made a size of the traced graph a constant.
    assert [one["count"] for one in report["compilation"]["functions"] if one["function"] == "loss_of"] == [1]
