"""A client of `ridgeline mcp` of both revisions of the protocol, which answers the questions to the person."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import BINARY

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
PATIENCE_S = 3 * float(os.environ.get("RIDGELINE_PATIENCE", "60"))
Answer = Callable[[str], bool]


class McpClient:
    """`allow`: what the person answers to a question; None: the client cannot ask. `revision`: MODERN or LEGACY."""

    def __init__(self, process: subprocess.Popen[str], revision: str, allow: Answer | None) -> None:
        self.process = process
        self.revision = revision
        self.allow = allow
        self.ids = itertools.count(1)
        self.questions: list[str] = []
        self.notifications: list[dict[str, Any]] = []
        self.capabilities: dict[str, Any] = {"elicitation": {}} if allow else {}
        if revision == LEGACY:
            made = self.request(
                "initialize",
                {
                    "protocolVersion": LEGACY,
                    "capabilities": self.capabilities,
                    "clientInfo": {"name": "t", "version": "1"},
                },
            )
            assert made["protocolVersion"] == LEGACY
            self.write({"method": "notifications/initialized"})

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        message: dict[str, Any] = json.loads(line)
        return message

    def send(self, method: str, params: dict[str, Any]) -> int:
        identity = next(self.ids)
        if self.revision == MODERN:
            meta = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            }
            params = {**params, "_meta": {**meta, **params.get("_meta", {})}}
        self.write({"id": identity, "method": method, "params": params})
        return identity

    def answer_to(self, identity: int) -> dict[str, Any]:
        """The response, with what comes before it noted, and questions of the server answered."""
        while True:
            message = self.read()
            if message.get("method") == "elicitation/create":
                self.write({"id": message["id"], "result": self.person(message["params"])})
            elif "method" in message:
                self.notifications.append(message)
            elif message["id"] == identity:
                return message

    def person(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self.allow is not None
        assert question["requestedSchema"]["properties"]["allow"]["type"] == "boolean"
        self.questions.append(question["message"])
        allows = self.allow(question["message"])
        return {"action": "accept", "content": {"allow": True}} if allows else {"action": "decline"}

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        response = self.answer_to(self.send(method, params or {}))
        assert "result" in response, response
        result: dict[str, Any] = response["result"]
        return result

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool, with the person's answers."""
        params: dict[str, Any] = {"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}}
        result = self.request("tools/call", params)
        while result.get("resultType") == "input_required":
            responses = {key: self.person(one["params"]) for key, one in result["inputRequests"].items()}
            params = {**params, "inputResponses": responses, "requestState": result["requestState"]}
            result = self.request("tools/call", params)
        return result

    def text(self, name: str, **arguments: Any) -> str:
        """The text of a tool that has an answer."""
        result = self.call(name, **arguments)
        assert not result["isError"], result
        return str(result["content"][0]["text"])


@contextmanager
def served(
    folder: Path,
    revision: str = MODERN,
    allow: Answer | None = lambda question: True,
    *options: str,
    **environment: str,
) -> Iterator[McpClient]:
    process = subprocess.Popen(
        [str(BINARY), "mcp", "--project", str(folder), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    watchdog = threading.Timer(PATIENCE_S, process.kill)  # then reading ends
    watchdog.start()
    try:
        yield McpClient(process, revision, allow)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
