"""The language server as an editor feels it: how long it waits for an answer, also while a profile runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CAPABILITIES = {
    "workspace": {"configuration": True, "applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "window": {"workDoneProgress": True, "showMessage": {}},
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}}},
}


class Client:
    """Speaks to one `ridgeline serve`; agrees to everything."""

    def __init__(self, binary: Path, settings: dict[str, Any]) -> None:
        self.settings = {"python": sys.executable} | settings
        self.process = subprocess.Popen(
            [binary, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdin and self.process.stdout
        self.writer, self.reader = self.process.stdin, self.process.stdout
        self.last_id = 0
        self.changes: list[dict[str, Any]] = []
        self.parts: list[float] = []  # when each part of a result came, by time.perf_counter()

    def send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.writer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.writer.flush()

    def receive(self) -> dict[str, Any]:
        length = 0
        while (line := self.reader.readline().strip()) or not length:
            if line.lower().startswith(b"content-length"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(self.reader.read(length))
        method = message.get("method")
        if method == "ridgeline/profileChanged":
            self.changes.append(message["params"])
        if method == "$/progress" and "changes" in message["params"]["value"]:
            self.parts.append(time.perf_counter())
        if method and "id" in message:
            answers = {
                "workspace/configuration": [self.settings],
                "window/showMessageRequest": {"title": "Profile"},
                "workspace/applyEdit": {"applied": True},
            }
            self.send(id=message["id"], result=answers.get(method))
        return message

    def ask(self, method: str, params: Any = None) -> Any:
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params)
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == self.last_id:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]

    def notify(self, method: str, params: Any) -> None:
        self.send(method=method, params=params)

    def begin(self, folder: Path) -> None:
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        self.ask("initialize", {"processId": None, "capabilities": CAPABILITIES, "workspaceFolders": folders})
        self.notify("initialized", {})

    def open(self, path: Path, text: str) -> dict[str, Any]:
        uri = path.as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return {"textDocument": {"uri": uri}}

    def end(self) -> None:
        self.ask("shutdown")
        self.notify("exit", None)
        self.process.wait()

    def resident_mib(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def row(title: str, times: list[float]) -> list[str]:
    cuts = quantiles(times, n=100, method="inclusive")
    return [title, f"{cuts[49]:.2f}", f"{cuts[98]:.2f}", str(len(times))]


def long_file(lines: int) -> str:
    block = "def function_{0}(x):\n    y = x * {0}\n    if y > 3:\n        return [y, x]\n    return y\n\n\n"
    return "".join(block.format(i) for i in range(lines // 7)) + "def input_provider(batch_size=32):\n    return ()\n"


def copied_example(name: str, folder: Path) -> Path:
    copied = folder / name
    shutil.copytree(ROOT / "examples" / name, copied)
    (copied / "pyproject.toml").write_text("")
    return copied


def run(binary: Path, table: Callable[[list[str], list[list[str]]], None], rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        measure(binary, table, rounds, copied_example("mlp", Path(name)))
        table(
            ["", "median, ms", "p99, ms", "times"], what_if_rows(binary, rounds, copied_example("resnet50", Path(name)))
        )


def what_if_rows(binary: Path, rounds: int, folder: Path) -> list[list[str]]:
    """What changes of ResNet-50 would bring: asked once, which lists and times operations, and then while a profile is
    timed."""
    client = Client(binary, {"timeBudget": 2})
    client.begin(folder)
    document = client.open(folder / "entry.py", (folder / "entry.py").read_text())
    client.ask("ridgeline/profile", document)
    begin = time.perf_counter()
    first = milliseconds(lambda: client.ask("ridgeline/whatIf", document | {"partialResultToken": "rows"}))
    rows = [1000 * (part - begin) for part in client.parts]
    client.last_id += 1
    client.send(id=client.last_id, method="ridgeline/profile", params=document | {"timeBudget": 60})
    while "Timing" not in str(client.receive()):
        pass
    again = [milliseconds(lambda: client.ask("ridgeline/whatIf", document)) for _ in range(100 * rounds)]
    client.notify("$/cancelRequest", {"id": client.last_id - 100 * rounds})
    client.end()
    return [
        row("what if of ResNet-50: the first row, from the recording", rows[:1] * 2),
        row("the last row before the whole answer", rows[-1:] * 2),
        row("the whole answer", [first] * 2),
        row("what if of ResNet-50, while a profile is timed", again),
    ]


def measure(binary: Path, table: Callable[[list[str], list[list[str]]], None], rounds: int, folder: Path) -> None:
    entry = folder / "entry.py"
    text = entry.read_text()
    lines = text.splitlines()
    rows = []

    starts = []
    for _ in range(10 * rounds):
        clients: list[Client] = []

        def start(made: list[Client] = clients) -> None:
            made.append(Client(binary, {}))
            made[0].begin(folder)

        starts.append(milliseconds(start))
        idle = clients[0].resident_mib()
        clients[0].end()
    rows.append(row("process started to `initialize` answered", starts))

    client = Client(binary, {"timeBudget": 1})
    client.begin(folder)
    document = client.open(entry, text)
    profile = client.ask("ridgeline/profile", document)["profileId"]
    saves = []
    for number in range(10 * rounds):
        changed = f"{text}\n# {number}\n"
        entry.write_text(changed)
        versioned = {"uri": entry.as_uri(), "version": number + 2}
        client.notify("textDocument/didChange", {"textDocument": versioned, "contentChanges": [{"text": changed}]})

        def save() -> None:
            client.changes.clear()
            client.notify("textDocument/didSave", document)
            while not (any(c["profiling"] for c in client.changes) and not client.changes[-1]["profiling"]):
                client.receive()

        saves.append(milliseconds(save))
    entry.write_text(text)
    rows.append(row("save to `profileChanged`, warm worker", saves))
    profile = client.ask("ridgeline/summary", document)["profileId"]

    line = next(i for i, words in enumerate(lines) if "self.fc1(" in words)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(lines), "character": 0}}
    questions = {
        "hover": ("textDocument/hover", document | {"position": {"line": line, "character": 20}}),
        "code lens": ("textDocument/codeLens", document),
        "inlay hints": ("textDocument/inlayHint", document | {"range": whole}),
        "predict, by batch size": ("ridgeline/predict", {"profileId": profile, "batchSize": 100}),
        "predict, by throughput": ("ridgeline/predict", {"profileId": profile, "samplesPerSecond": 1000}),
        "predict, by memory": ("ridgeline/predict", {"profileId": profile, "peakBytes": 20e6}),
    }
    client.last_id += 1
    client.send(id=client.last_id, method="ridgeline/profile", params=document | {"timeBudget": 60})
    while "Timing" not in str(client.receive()):
        pass
    for title, (method, params) in questions.items():
        times = [milliseconds(lambda m=method, p=params: client.ask(m, p)) for _ in range(100 * rounds)]
        rows.append(row(f"{title}, while a profile is timed", times))
    client.notify("$/cancelRequest", {"id": client.last_id - 100 * rounds * len(questions)})

    long = long_file(20_000)
    path = folder / "long.py"
    other = client.open(path, long)
    client.ask("textDocument/codeLens", other)
    keys, known = [], []
    for number in range(50 * rounds):
        place = {"line": 7 * 1000 + 1, "character": 8}
        change = {"range": {"start": place, "end": place}, "text": "a"}
        versioned = {"textDocument": {"uri": path.as_uri(), "version": number + 2}, "contentChanges": [change]}
        nowhere = {"textDocument": {"uri": (folder / "none.py").as_uri()}}

        def type_key(params: dict[str, Any] = versioned, after: dict[str, Any] = nowhere) -> None:
            client.notify("textDocument/didChange", params)
            client.ask("textDocument/codeLens", after)  # answered once the change is done with

        keys.append(milliseconds(type_key))
        known.append(milliseconds(lambda: client.ask("textDocument/codeLens", other)))
    rows.append(row("a key in a file of 20,000 lines", keys))
    rows.append(row("its code lens afterwards, which needs the tree", known))
    table(["", "median, ms", "p99, ms", "times"], rows)
    print(f"Resident memory before anything was profiled: {idle:.1f} MiB; now: {client.resident_mib():.1f} MiB.\n")
    client.end()
