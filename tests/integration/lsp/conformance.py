"""Everything that goes over the wire in one session, judged: shapes by LSP's own types, and the rules between messages.

checker = Checker()
checker.sent_by_client(message)   # in the order in which they go over the wire
checker.sent_by_server(message)
assert checker.problems() == []
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from lsprotocol import types
from referencing import Registry, Resource

from . import specification

PROTOCOL = Path(__file__).resolve().parents[3] / "protocol"
SCHEMA = PROTOCOL / "ridgeline.schema.json"
SCHEMA_ID = "https://ridgeline.invalid/ridgeline.schema.json"
REPORT = Resource.from_contents(json.loads((PROTOCOL / "report.schema.json").read_text()))
REPORTS: Registry[Any] = Registry().with_resource("https://ridgeline.invalid/report.schema.json", REPORT)

# What a server may say before `initialize` is answered.
EARLY = {"window/showMessage", "window/logMessage", "telemetry/event", "window/showMessageRequest", "$/progress"}

# What a server may only send to a client that announced it.
NEEDS = {
    "client/registerCapability": "",
    "window/showDocument": "window.showDocument.support",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "workspace/applyEdit": "workspace.applyEdit",
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/configuration": "workspace.configuration",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
    "workspace/inlayHint/refresh": "workspace.inlayHint.refreshSupport",
    "workspace/workspaceFolders": "workspace.workspaceFolders",
}


class OwnMethods:
    """The `ridgeline/*` methods, by a JSON Schema: {"$defs": ..., "methods": {NAME: {"direction": "clientToServer",
    "params": SCHEMA, "result": SCHEMA}}}. A notification has no result. Without the file nothing is known of them. It
    may refer to report.schema.json."""

    def __init__(self, path: Path = SCHEMA) -> None:
        self.schema: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None

    def problems(self, method: str, part: str, value: Any) -> list[str]:
        if self.schema is None or method == "ridgeline/authenticate":
            return []
        known = self.schema["methods"].get(method)
        if known is None:
            return [f"{method}: is not in {SCHEMA.name}"]
        if part not in known:
            return [f"{method}: has no {part}"]
        schema = {"$id": SCHEMA_ID, "$defs": self.schema.get("$defs", {}), "allOf": [known[part]]}
        return [
            f"{method} {part}{error.json_path[1:]}: {error.message}"
            for error in Draft202012Validator(schema, registry=REPORTS).iter_errors(value)
        ]


@dataclass
class Side:
    """What one side has asked, and not been told yet: id → method."""

    name: str
    direction: str
    waiting: dict[int | str, str] = field(default_factory=dict)


@dataclass
class Checker:
    own: OwnMethods = field(default_factory=OwnMethods)
    # Clients of the real world are newer than the types: members that are not known are their business.
    strict_client: bool = False

    def __post_init__(self) -> None:
        self.client = Side("client", "clientToServer")
        self.server = Side("server", "serverToClient")
        self.found: list[str] = []
        self.capabilities: dict[str, Any] = {}
        self.initialized = False
        self.progress: dict[int | str, float | None] = {}
        self.tokens: set[int | str] = set()

    def sent_by_client(self, message: Any) -> None:
        self.judge(message, self.client, self.server)
        if isinstance(message, dict) and message.get("method") == "initialize" and not self.initialized:
            self.capabilities = (message.get("params") or {}).get("capabilities") or {}
        token = message.get("params") if isinstance(message, dict) else None
        if isinstance(token, dict) and "workDoneToken" in token:
            self.tokens.add(token["workDoneToken"])

    def sent_by_server(self, message: Any) -> None:
        self.judge(message, self.server, self.client)
        if not isinstance(message, dict):
            return
        method = message.get("method")
        if method is not None and not self.initialized and method not in EARLY:
            self.say(self.server, f"{method}: comes before initialize is answered")
        if method in NEEDS and not self.announced(method, message):
            self.say(self.server, f"{method}: the client did not announce {NEEDS[method] or 'the registration'}")
        if method == "window/workDoneProgress/create":
            self.tokens.add(message.get("params", {}).get("token"))
        if method == "$/progress":
            self.judge_progress(message.get("params") or {})

    def problems(self) -> list[str]:
        return self.found

    def unanswered(self) -> list[str]:
        """Requests of the client that were never answered; none when a session ended well."""
        return [f"{method} ({id})" for id, method in self.client.waiting.items()]

    def say(self, side: Side, words: str) -> None:
        self.found.append(f"{side.name}: {words}")

    def judge(self, message: Any, sender: Side, other: Side) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.say(sender, f"no JSON-RPC 2.0 message: {str(message)[:80]}")
        elif "method" in message:
            self.judge_call(message, sender)
        else:
            self.judge_response(message, sender, other)

    def judge_call(self, message: dict[str, Any], sender: Side) -> None:
        method = message["method"]
        found = [f"{method}: {name} is no member of a message" for name in message.keys() - CALL_MEMBERS]
        if "id" in message:
            if not isinstance(message["id"], int | str) or isinstance(message["id"], bool):
                found.append(f"{method}: the id is neither a number nor a string")
            elif message["id"] in sender.waiting:
                found.append(f"{method}: the id {message['id']!r} is in use")
            else:
                sender.waiting[message["id"]] = method
        if method.startswith("ridgeline/"):
            found += self.own.problems(method, "params", message.get("params"))
        elif method not in types.METHOD_TO_TYPES:
            if sender is self.server or not method.startswith("$/"):
                found.append(f"{method}: is no method of LSP")
        else:
            found += self.shape_of_call(message, method, sender)
        for problem in found:
            self.say(sender, problem)

    def shape_of_call(self, message: dict[str, Any], method: str, sender: Side) -> list[str]:
        found = []
        if types.message_direction(method) not in (sender.direction, "both"):
            found.append(f"{method}: is not the {sender.name}'s to send")
        if specification.is_request(method) != ("id" in message):
            found.append(f"{method}: is a {'request' if specification.is_request(method) else 'notification'}")
        hint = specification.params_type(method)
        if "params" not in message and specification.check(None, hint, "", extra_members=True) == []:
            return found
        return found + self.check(message.get("params"), hint, f"{method} params", sender)

    def judge_response(self, message: dict[str, Any], sender: Side, asker: Side) -> None:
        if "id" not in message or ("result" in message) == ("error" in message):
            self.say(sender, f"a response has an id, and either a result or an error: {str(message)[:80]}")
            return
        method = asker.waiting.pop(message["id"], None)
        error = message.get("error")
        if method is None and (message["id"] is not None or error is None):
            self.say(sender, f"answers {message['id']!r}, which nobody waits for")
        if error is not None:
            good = (
                isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
            )
            if not good or error.keys() - {"code", "message", "data"}:
                self.say(sender, f"{method}: the error is none: {str(error)[:80]}")
            return
        if method is None:
            return
        if method == "initialize":
            self.initialized = True
        if method.startswith("ridgeline/"):
            found = self.own.problems(method, "result", message["result"])
        elif method in types.METHOD_TO_TYPES and specification.is_request(method):
            found = self.check(message["result"], specification.result_type(method), f"{method} result", sender)
        else:
            found = []
        for problem in found:
            self.say(sender, problem)

    def judge_progress(self, params: dict[str, Any]) -> None:
        """A progress is begun once under a token that was agreed on, never goes back, and ends once."""
        token, value = params.get("token"), params.get("value")
        kind = value.get("kind") if isinstance(value, dict) else None
        structure = WORK_DONE.get(kind)
        if structure is None or not isinstance(value, dict):
            return  # of partial results
        for problem in self.check(value, structure, f"$/progress {kind}", self.server):
            self.say(self.server, problem)
        percentage = value.get("percentage")
        if kind == "begin":
            if token not in self.tokens or token in self.progress:
                self.say(self.server, f"$/progress: {token!r} cannot begin")
            self.progress[token] = percentage
        elif token not in self.progress:
            self.say(self.server, f"$/progress: {token!r} has not begun")
        elif kind == "end":
            del self.progress[token]
            self.tokens.discard(token)
        elif percentage is not None:
            if percentage > 100 or percentage < (self.progress[token] or 0):
                self.say(self.server, f"$/progress: {token!r} goes from {self.progress[token]} to {percentage}")
            self.progress[token] = percentage

    def check(self, value: Any, hint: Any, where: str, sender: Side) -> list[str]:
        extra = sender is self.client and not self.strict_client
        return specification.check(value, hint, where, extra_members=extra)

    def announced(self, method: str, message: dict[str, Any]) -> bool:
        if method != "client/registerCapability":
            return self.capability(NEEDS[method])
        registrations = message.get("params", {}).get("registrations", [])
        return all(self.capability(registered(each.get("method", ""))) for each in registrations)

    def capability(self, path: str) -> bool:
        value: Any = self.capabilities
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return bool(value)


def registered(method: str) -> str:
    """The capability of a client that has the method registered while the session goes on."""
    part, _, name = method.partition("/")
    synchronized = part == "textDocument" and name.startswith(("did", "will"))
    return f"{part}.{'synchronization' if synchronized else name}.dynamicRegistration"


CALL_MEMBERS = {"jsonrpc", "id", "method", "params"}
WORK_DONE = {
    "begin": types.WorkDoneProgressBegin,
    "report": types.WorkDoneProgressReport,
    "end": types.WorkDoneProgressEnd,
}
