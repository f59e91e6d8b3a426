"""`./dev bench assistant`: a deterministic client of `ridgeline mcp`, by tool calls alone.

First an episode: a project with five planted faults, and what it takes to find, prove, write and verify each change.
Then how long the answers of the tools are, on every example. Four characters count as a token.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared import ROOT

sys.path.insert(0, str(ROOT / "tests" / "integration"))
os.environ.setdefault("RIDGELINE_PATIENCE", "400")  # seconds for a third of an episode
from mcp_client import MODERN, McpClient, served

EPISODE_HEAD = ["fault", "calls", "tokens", "seconds", "predicted", "tried", "measured afterwards"]
TOKENS_HEAD = ["tool", "median", "most", "example with most"]
CHARACTERS_A_TOKEN = 4
_BATCH = 8192  # asked for in the entry point's project; a step of it does not fit into _MEMORY
_MEMORY = 110 << 20

NET = """import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(128, 1024), nn.Linear(1024, 128)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(6)])
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.blocks(x))
"""

TRAIN = """import time

import torch
from net import Net
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self):
        return 6400

    def __getitem__(self, index):
        time.sleep(0.0003)
        return torch.full((128,), index / 6400), index % 10


loader = DataLoader(Samples(), batch_size=64)
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_of = torch.nn.CrossEntropyLoss(reduction="none")
total = 0.0
for x, y in loader:
    optimizer.zero_grad()
    losses = loss_of(model(x), y)
    losses.mean().backward()
    optimizer.step()
    for one in losses.repeat(100):
        total += one.item()
print(total)
"""
ITEMS = (
    "    for one in losses.repeat(100):\n        total += one.item()\n",
    "    total += 100 * losses.sum().item()\n",
)

ENTRY = """import torch
from net import Net


def model_provider():
    return Net()


def input_provider(batch_size=512):
    return torch.randn(batch_size, 128), torch.randint(0, 10, (batch_size,))


def iteration_provider(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def iteration(x, y):
        optimizer.zero_grad()
        output = model(x)
        loss = torch.nn.functional.cross_entropy(output.float(), y)
        loss.backward()
        optimizer.step()

    return iteration
"""


@dataclass
class Episode:
    """What one fault took so far."""

    client: McpClient
    calls: int = 0
    characters: int = 0
    began: float = field(default_factory=time.monotonic)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.client.call(tool, **arguments)
        text = "".join(part["text"] for part in result["content"])
        self.calls += 1
        self.characters += len(text)
        if result["isError"]:
            sys.exit(f"{tool} {arguments}: {text}")
        return {**result["structuredContent"], "text": text}

    def row(self, fault: str, predicted: str, tried: str, measured: str) -> list[str]:
        tokens, seconds = self.characters // CHARACTERS_A_TOKEN, time.monotonic() - self.began
        return [fault, str(self.calls), f"{tokens:,}", f"{seconds:.0f}", predicted, tried, measured]


def _speed(figure: dict[str, Any] | None) -> str:
    return "" if figure is None else f"{figure['value']:.2f}× ({figure['low']:.2f}–{figure['high']:.2f})"


def _ms(step: dict[str, Any]) -> str:
    return f"{step['value']:.3g} ms"


def _change(client: McpClient, file: str, change: str, before: dict[str, Any], *, can_be_tried: bool) -> list[str]:
    """From the question to the measured step."""
    episode = Episode(client)
    predicted = episode.call("what_if", file=file, changes=[change])["changes"][0]
    tried = episode.call("try_change", file=file, change=[change]) if can_be_tried else {"tried": None}
    assert episode.call("change_edit", file=file, change=[change], apply=True)["written"]
    after = episode.call("compare", file=file)
    measured = f"{_ms(before)} → {_ms(after['step'])}"
    return episode.row(f"`{change}`", _speed(predicted["predicted"]), _speed(tried["tried"]), measured)


def episode_rows(python: str = sys.executable) -> list[list[str]]:
    """From an unprofiled project to five verified changes."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (("net.py", NET), ("train.py", TRAIN), ("entry.py", ENTRY)):
            (folder / file).write_text(text)
        with served(folder, MODERN, lambda question: True, "--python", python) as client:
            first = Episode(client)
            step = first.call("run_script", file="train.py")["step"]
            costly = first.call("costliest", file="train.py")["rows"]
            rows.append(first.row("(first look)", "", "", _ms(step)))
            rows.append(_change(client, "train.py", "loader-workers:2", step, can_be_tried=False))

            episode = Episode(client)
            before = episode.call("run_script", file="train.py")["step"]
            line = next(row for row in costly if ".item()" in row["name"])
            episode.call("explain_line", file="train.py", line=line["line"])
            text = (folder / "train.py").read_text()
            (folder / "train.py").write_text(text.replace(*ITEMS))  # the assistant's own edit
            after = episode.call("compare", file="train.py")["step"]
            rows.append(episode.row("`.item()` in the loop", "", "", f"{_ms(before)} → {_ms(after)}"))
            rows.append(_change(client, "train.py", "fused-optimizer", after, can_be_tried=True))

            look = Episode(client)
            step = look.call("profile", file="entry.py", batch_sizes=[512, 1024])["step"]
            rows.append(look.row("(first look)", "", "", _ms(step)))
            rows.append(_change(client, "entry.py", "bf16-autocast", step, can_be_tried=True))
            rows.append(_made_to_fit(client))
    return rows


def _made_to_fit(client: McpClient) -> list[str]:
    episode = Episode(client)
    predicted = episode.call("predict", file="entry.py", batch_size=_BATCH)["peakBytes"]
    assert predicted["value"] > _MEMORY, predicted
    episode.call("memory_at_peak", file="entry.py")
    change = [f"batch-size:{_BATCH}", "checkpoint:blocks.0..5"]
    tried = episode.call("try_change", file="entry.py", change=change)
    assert tried["peakBytes"] <= _MEMORY, tried
    assert episode.call("change_edit", file="entry.py", change=change, apply=True)["written"]
    after = episode.call("profile", file="entry.py", batch_sizes=[_BATCH, _BATCH // 2])["peakBytes"]
    assert after["value"] <= _MEMORY, after
    mib = 1 << 20
    return episode.row(
        f"batch {_BATCH:,} in {_MEMORY / mib:.0f} MiB",
        f"{predicted['value'] / mib:.0f} MiB as it is",
        f"{tried['peakBytes'] / mib:.0f} MiB, `{change[1]}`",
        f"{after['value'] / mib:.0f} MiB",
    )


READ_ONLY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("costliest", {}),
    ("costliest", {"of": "modules", "by": "memory"}),
    ("costliest", {"of": "operations", "phase": "backward"}),
    ("memory_at_peak", {}),
    ("predict", {"batch_size": 12}),
    ("what_if", {"changes": ["fused-optimizer"]}),
    ("change_edit", {"change": ["fused-optimizer"]}),
    ("compare", {}),
    ("report", {}),
)


def token_rows(seconds: float, python: str = sys.executable) -> list[list[str]]:
    """How long answers are, on every example with an entry point."""
    lengths: dict[str, list[tuple[int, str]]] = {}
    for entry in sorted((ROOT / "examples").glob("*/entry.py")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / entry.parent.name
            shutil.copytree(entry.parent, folder)
            with served(folder, MODERN, lambda question: True, "--python", python) as client:
                calls = (("profile", {"time_budget_seconds": seconds}), *READ_ONLY)
                for tool, arguments in calls:
                    result = client.call(tool, **arguments)
                    length = sum(len(part["text"]) for part in result["content"])
                    kind = tool + "".join(f" {value}" for key, value in arguments.items() if isinstance(value, str))
                    lengths.setdefault(kind, []).append((length // CHARACTERS_A_TOKEN, folder.name))
                    if tool == "costliest" and not arguments and not result["isError"]:
                        _explained(client, result["structuredContent"]["rows"], lengths, folder.name)
                    if tool == "profile" and result["isError"]:
                        print(f"{folder.name}: {result['content'][0]['text'][:200]}", file=sys.stderr)
                        break
    return [
        [f"`{kind}`", str(sorted(of)[len(of) // 2][0]), str(max(of)[0]), max(of)[1]] for kind, of in lengths.items()
    ]


def _explained(
    client: McpClient, rows: list[dict[str, Any]], lengths: dict[str, list[tuple[int, str]]], example: str
) -> None:
    row = next((row for row in rows if row["line"]), None)
    if row is not None:
        result = client.call("explain_line", file=row["file"], line=row["line"], entry="entry.py")
        length = sum(len(part["text"]) for part in result["content"])
        lengths.setdefault("explain_line", []).append((length // CHARACTERS_A_TOKEN, example))


def run(table: Callable[[list[str], list[list[str]]], None], seconds: float) -> None:
    print("### An assistant's episode\n")
    table(EPISODE_HEAD, episode_rows())
    print("### Tokens of an answer\n")
    table(TOKENS_HEAD, token_rows(seconds))
