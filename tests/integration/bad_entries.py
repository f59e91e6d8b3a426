"""Entry points with one mistake each, and the exit codes that docs/user/errors.md lists."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import ROOT

ERRORS = (ROOT / "docs" / "user" / "errors.md").read_text()
EXIT_CODES = dict(re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", ERRORS, re.MULTILINE))


def entry(
    *,
    top: str = "",
    model: str = "return torch.nn.Linear(8, 8)",
    inputs: str = "return (torch.randn(batch_size, 8),)",
    provide: str = "",
    step: str = "",
    batch_size: str = "batch_size=4",
    arguments: str = "x",
) -> str:
    """An entry point that works, but for what is put into it: at its top, into its providers, into its step."""

    def indented(text: str, spaces: int) -> str:
        return "\n".join(" " * spaces + line for line in text.splitlines() or ["pass"])

    return f"""\
import os, sys, time, torch
{top}

def model_provider():
{indented(model, 4)}


def input_provider({batch_size}):
{indented(inputs, 4)}


def iteration_provider(model):
{indented(provide, 4)}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    calls = 0

    def iteration({arguments}):
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
{indented(step, 8)}

    return iteration
"""


@dataclass(frozen=True)
class Bad:
    """An entry file, and the expected outcome: a kind in docs/user/errors.md ("": a report), parts of the message."""

    source: str | bytes
    kind: str
    words: tuple[str, ...] = ()  # of the message
    told: tuple[str, ...] = ()  # of all that the user sees
    options: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    check: Callable[[dict[str, Any]], None] | None = None  # of the report


def write(bad: Bad, folder: Path) -> dict[str, bytes]:
    """Makes the folder of the entry point; what is in it."""
    folder.mkdir()
    source = bad.source.encode() if isinstance(bad.source, str) else bad.source
    for name, text in {"entry.py": source, **{name: text.encode() for name, text in bad.files.items()}}.items():
        (folder / name).write_bytes(text)
    return content(folder)


def project(folder: Path, source: str | bytes, files: dict[str, str] | None = None) -> Path:
    """Makes the folder of an entry point that is a project of its own; the entry point."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    write(Bad(source, "", files={"pyproject.toml": "", **(files or {})}), folder)
    return folder / "entry.py"


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
