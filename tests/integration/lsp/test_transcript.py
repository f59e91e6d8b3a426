"""A whole session, recorded: tests/data/transcript.md is what this test saw. `./dev test --update` writes it anew."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import ROOT

from .editor import Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import Daemon, Wire

TRANSCRIPT = ROOT / "tests" / "data" / "transcript.md"
HEAD = """# A session, message by message

What an editor and `ridgeline serve` say to each other while somebody opens [examples/mlp](../../examples/mlp/entry.py),
profiles it, looks, drags, edits, breaks the code and fixes it. Recorded by `tests/integration/lsp/test_transcript.py`
from a real run; `→` is the editor, `←` the server. Long texts and lists are cut (`…`), and of consecutive messages of
one method only the first and the last are shown. [The protocol](../../docs/dev/protocol.md) explains them.
"""
WIDTH, ITEMS, TEXT = 118, 3, 160


class Recorded(Wire):
    """A wire that remembers who said what."""

    def __init__(self, reader: int, writer: int) -> None:
        super().__init__(reader, writer)
        self.steps: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = []
        self.methods: dict[Any, str] = {}

    def note(self, arrow: str, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self.methods[arrow, message["id"]] = message["method"]
        if "method" not in message:
            other = "→" if arrow == "←" else "←"
            message = {"answer": self.methods[other, message["id"]]} | message
        self.steps[-1][1].append((arrow, message))

    def send(self, message: Any) -> None:
        self.note("→", message)
        super().send(message)

    def receive(self) -> dict[str, Any] | None:
        message = super().receive()
        if message is not None:
            self.note("←", message)
        return message


def short(value: Any, tidy: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        value = tidy(value)
        return value if len(value) <= TEXT else value[:TEXT] + "…"
    if isinstance(value, dict):
        return {name: short(each, tidy) for name, each in value.items()}
    if isinstance(value, list):
        return [short(each, tidy) for each in value[:ITEMS]] + (["…"] if len(value) > ITEMS else [])
    return float(f"{value:.4g}") if isinstance(value, float) else value


def told(value: Any, room: int, indent: str) -> str:
    """JSON: on one line where it fits, else a member on each."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= room or not isinstance(value, dict | list) or not value:
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(k)}: " + told(v, WIDTH - len(inner) - len(k) - 5, inner) for k, v in value.items()]
        return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + told(v, WIDTH - len(inner) - 1, inner) for v in value) + f"\n{indent}]"


def name_of(message: dict[str, Any]) -> str:
    return f"answer to {message['answer']}" if "answer" in message else message["method"]


def shown(messages: list[tuple[str, dict[str, Any]]], tidy: Callable[[str], str]) -> Iterator[str]:
    names = [(arrow, name_of(message)) for arrow, message in messages]
    for i, (arrow, message) in enumerate(messages):
        if 0 < i < len(names) - 1 and names[i - 1] == names[i] == names[i + 1]:
            if i < 2 or names[i - 2] != names[i]:
                yield "  …"
            continue
        body = message.get("params", message.get("result", message.get("error")))
        yield f"{arrow} {names[i][1]}  " + told(short(body, tidy), WIDTH - len(names[i][1]) - 4, "")


def outline(text: str) -> list[str]:
    """The outline of a transcript: its steps, and the kinds of messages in each."""
    lines: list[str] = []
    for step in re.split(r"(?m)^## ", text)[1:]:
        kinds = set(re.findall(r"(?m)^([→←] (?:answer to )?[\w/$]+)", step))
        lines += [step.splitlines()[0], *sorted(kinds)]
    return lines


# What comes when the machine pleases, in one step or the next.
LOOSE = re.compile(r"registerCapability|\$/progress|workDoneProgress|refresh|publishDiagnostics|profileChanged")


def test_the_transcript_is_of_such_a_session(tmp_path: Path, start: Callable[..., Daemon]) -> None:
    entry = copy_of_mlp(tmp_path)
    daemon = start("--stdio", env=cache(tmp_path))
    wire = Recorded(daemon.stdout.fileno(), daemon.stdin.fileno())
    editor = Editor(wire, entry.parent, dict(SETTINGS))
    uri = entry.as_uri()

    @contextmanager
    def step(title: str) -> Iterator[None]:
        wire.steps.append((title, []))
        yield

    with step("Begin"):
        editor.begin()
    with step("Open a file: nothing runs"):
        document = editor.open(entry)
        editor.ask("textDocument/codeLens", document)
    with step("Profile it: the server asks first"):
        summary = editor.ask("ridgeline/profile", document)
        profile = {"profileId": summary["profileId"]}
    with step("Hover over a line"):
        line = editor.line_of(uri, "self.fc1(")
        editor.ask("textDocument/hover", document | {"position": {"line": line, "character": 25}})
    with step("Hints at the ends of costly lines"):
        count = len(editor.texts[uri].splitlines())
        everywhere = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": count, "character": 0}}}
        editor.ask("textDocument/inlayHint", document | everywhere)
        editor.ask("textDocument/codeLens", document)
    with step("Explore a module"):
        editor.ask("ridgeline/breakdown", profile | {"node": "0"})
        editor.ask("ridgeline/lineCosts", document | profile | {"node": "0"})
    with step("Drag a bar"):
        fast = 1.1 * summary["samplesPerSecond"]
        batch = editor.ask("ridgeline/predict", profile | {"samplesPerSecond": fast})["batch"]
        wanted = batch["batchSize"] if batch and batch["batchSize"] != summary["batchSize"] else 128
    with step("Release it: the digits in the code change"):
        editor.ask("ridgeline/setBatchSize", document | {"batchSize": wanted})
    with step("Save: nothing runs, since only the batch size has changed"):
        editor.save(entry)
    with step("Profile with the new batch size"):
        assert editor.ask("ridgeline/profile", document)["batchSize"] == wanted
    with step("Break the code and save"):
        editor.type_over(uri, "def forward(self, ", "def forward(self, nothing, ")
        editor.save(entry)
        assert editor.settled()["state"] == "failed"
        editor.until(lambda: any(d["severity"] == 1 for d in editor.diagnostics.get(uri, [])))
    with step("Fix it and save: the profile of that text is there"):
        editor.type_over(uri, "def forward(self, nothing, ", "def forward(self, ")
        editor.save(entry)
        editor.until(lambda: editor.changes[-1]["state"] == "ready")
        editor.until(lambda: not any(d["severity"] == 1 for d in editor.diagnostics[uri]))
    with step("End"):
        editor.ask("shutdown")
        wire.notify("exit")
    assert daemon.wait() == 0
    wire.assert_conforms()

    def tidy(text: str) -> str:
        places = {str(entry.parent): "/home/me/mlp", str(ROOT): "/home/me/ridgeline", sys.prefix: "/home/me/venv"}
        for place, name in places.items():
            text = text.replace(place, name)
        return text

    text = HEAD
    for title, messages in wire.steps:
        text += f"\n## {title}\n\n```\n" + "\n".join(shown(messages, tidy)) + "\n```\n"
    if os.environ.get("UPDATE_EXPECTED"):
        TRANSCRIPT.write_text(text)
    strict = lambda transcript: [line for line in outline(transcript) if not LOOSE.search(line)]  # noqa: E731
    assert strict(text) == strict(TRANSCRIPT.read_text()), "tests/data/transcript.md differs from this session"
