"""An editor as far as a server sees one: it holds documents, answers what it is asked, and applies edits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import PYTHON

from .wire import Wire, wait_for

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "window": {"workDoneProgress": True, "showMessage": {}, "showDocument": {"support": True}},
    "textDocument": {
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "inlayHint": {},
        "codeLens": {},
        "codeAction": {
            "isPreferredSupport": True,
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor"]}},
        },
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
    },
}


@dataclass
class Editor:
    wire: Wire
    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    consent: str | None = "Profile"  # what is chosen when the server asks
    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    diagnostics: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    changes: list[dict[str, Any]] = field(default_factory=list)  # ridgeline/profileChanged
    questions: list[str] = field(default_factory=list)
    progress: list[dict[str, Any]] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)  # of results, before these come whole
    logged: list[str] = field(default_factory=list)  # window/logMessage
    outputs: list[tuple[str, str]] = field(default_factory=list)  # ridgeline/output: of which script, text
    asked: list[str] = field(default_factory=list)  # methods that the server called
    edits: int = 0
    python: str = PYTHON

    def begin(self, capabilities: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        folder = {"uri": self.folder.as_uri(), "name": self.folder.name}
        result = self.wire.initialize(
            CAPABILITIES if capabilities is None else capabilities,
            **({"rootUri": folder["uri"], "workspaceFolders": [folder]} | more),
        )
        if (capabilities or CAPABILITIES).get("workspace", {}).get("configuration"):
            self.until(lambda: "workspace/configuration" in self.asked)
        return result

    def configure(self, **settings: Any) -> None:
        self.settings |= settings
        self.asked.clear()
        self.wire.notify("workspace/didChangeConfiguration", {"settings": {}})
        self.until(lambda: "workspace/configuration" in self.asked)

    # ---- what the server says

    def handle(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params")
        if method is None:
            return
        self.asked.append(method)
        if method == "textDocument/publishDiagnostics":
            self.diagnostics[params["uri"]] = params["diagnostics"]
        elif method == "ridgeline/profileChanged":
            self.changes.append(params)
        elif method == "$/progress":
            shown = self.progress if "kind" in params["value"] else self.parts
            shown.append(params["value"])
        elif method == "ridgeline/output":
            self.outputs.append((params["uri"], params["text"]))
        elif method == "window/logMessage":
            self.logged.append(params["message"])
        if "id" in message:
            self.wire.send({"jsonrpc": "2.0", "id": message["id"], "result": self.result_of(method, params)})

    def result_of(self, method: str, params: Any) -> Any:
        if method == "workspace/configuration":
            return [{"python": self.python} | self.settings]
        if method == "window/showMessageRequest":
            self.questions.append(params["message"])
            return self.consent and {"title": self.consent}
        if method == "workspace/applyEdit":
            edit = params["edit"]
            changes = [
                (change["textDocument"]["uri"], change["textDocument"]["version"], change["edits"])
                for change in edit.get("documentChanges", [])
            ] or [(uri, None, edits) for uri, edits in edit["changes"].items()]
            for uri, version, edits in changes:
                if version not in (None, self.versions[uri]):
                    return {"applied": False, "failureReason": "the document has changed"}
                starts = [(e["range"]["start"]["line"], e["range"]["start"]["character"], e) for e in edits]
                for _, _, each in sorted(starts, key=lambda start: start[:2], reverse=True):
                    self.replace(uri, each["range"], each["newText"])
            self.edits += 1
            return {"applied": True}
        if method == "window/showDocument":
            return {"success": True}
        return None

    def until(self, condition: Any) -> Any:
        """Handles messages until the condition holds."""

        def step() -> Any:
            for message in self.wire.others:
                self.handle(message)
            self.wire.others.clear()
            if result := condition():
                return result
            message = self.wire.receive()
            assert message is not None, "the connection ended"
            self.handle(message)
            return condition()

        return wait_for(step)

    def call(self, method: str, params: Any = None) -> dict[str, Any]:
        """The answer, result or error; the server may ask things meanwhile."""
        return self.answer(self.wire.begin(method, params))

    def answer(self, number: int | str) -> dict[str, Any]:
        """To a request that was begun."""
        answers: list[dict[str, Any]] = []

        def come() -> bool:
            message = self.wire.receive()
            assert message is not None, "the connection ended"
            if "method" not in message and message.get("id") == number:
                answers.append(message)
            else:
                self.handle(message)
            return bool(answers)

        while not come():
            pass
        return answers[0]

    def ask(self, method: str, params: Any = None) -> Any:
        answer = self.call(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    # ---- what the user does

    def open(self, path: Path, text: str | None = None) -> dict[str, Any]:
        uri = path.as_uri()
        self.texts[uri] = path.read_text() if text is None else text
        self.versions[uri] = 1
        item = {"uri": uri, "languageId": "python", "version": 1, "text": self.texts[uri]}
        self.wire.notify("textDocument/didOpen", {"textDocument": item})
        return {"textDocument": {"uri": uri}}

    def replace(self, uri: str, place: dict[str, Any], new: str) -> None:
        """As the keyboard would: the server is told."""
        lines = self.texts[uri].encode().splitlines(keepends=True) or [b""]
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        begin = starts[place["start"]["line"]] + place["start"]["character"]
        end = starts[place["end"]["line"]] + place["end"]["character"]
        data = self.texts[uri].encode()
        self.texts[uri] = (data[:begin] + new.encode() + data[end:]).decode()
        self.versions[uri] += 1
        self.wire.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": self.versions[uri]},
                "contentChanges": [{"range": place, "text": new}],
            },
        )

    def type_first(self, uri: str, new: str) -> None:
        """At the beginning of the text."""
        first = {"line": 0, "character": 0}
        self.replace(uri, {"start": first, "end": first}, new)

    def type_over(self, uri: str, old: str, new: str) -> None:
        """Replaces the first place of a text."""
        before = self.texts[uri].partition(old)[0].encode()
        line = before.count(b"\n")
        column = len(before.rpartition(b"\n")[2])
        assert "\n" not in old
        end = column + len(old.encode())
        place = {"start": {"line": line, "character": column}, "end": {"line": line, "character": end}}
        self.replace(uri, place, new)

    def save(self, path: Path) -> None:
        path.write_text(self.texts[path.as_uri()])
        self.wire.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})

    def line_of(self, uri: str, words: str) -> int:
        return next(i for i, line in enumerate(self.texts[uri].splitlines()) if words in line)

    def settled(self) -> dict[str, Any]:
        """What is known once a profile that begins now has ended."""
        self.changes.clear()
        self.until(lambda: any(c["profiling"] for c in self.changes) and not self.changes[-1]["profiling"])
        return self.changes[-1]
