"""The judge itself: what is right passes, and what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from . import specification
from .conformance import Checker, OwnMethods

RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}


def call(method: str, params: Any = None, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params}) | more


def session(capabilities: dict[str, Any] | None = None, own: OwnMethods | None = None) -> Checker:
    """A session that has begun."""
    checker = Checker(own=own or OwnMethods(Path("/nonexistent")))
    params = {"processId": None, "rootUri": None, "capabilities": capabilities or {}}
    checker.sent_by_client(call("initialize", params, id=1))
    checker.sent_by_server({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}})
    checker.sent_by_client(call("initialized", {}))
    assert checker.problems() == []
    return checker


def hover(result: Any) -> list[str]:
    checker = session()
    params = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}
    checker.sent_by_client(call("textDocument/hover", params, id="h"))
    checker.sent_by_server({"jsonrpc": "2.0", "id": "h", "result": result})
    return checker.problems()


def from_server(message: Any, capabilities: dict[str, Any] | None = None) -> list[str]:
    checker = session(capabilities)
    checker.sent_by_server(message)
    return checker.problems()


def test_every_method_has_its_types():
    for method in types.METHOD_TO_TYPES:
        specification.params_type(method)
        if specification.is_request(method):
            specification.result_type(method)
    assert len(types.METHOD_TO_TYPES) > 90


@pytest.mark.parametrize(
    "result",
    [None, {"contents": {"kind": "markdown", "value": "x"}}, {"contents": "x", "range": RANGE}, {"contents": ["x"]}],
)
def test_good_results_pass(result: Any):
    assert hover(result) == []


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({}, "textDocument/hover result.contents: is missing"),
        ({"contents": {"kind": "html", "value": "x"}}, "'html' is no MarkupKind"),
        ({"contents": "x", "range": None}, "range: must be left out, not null"),
        ({"contents": "x", "rang": RANGE}, "rang: is no member of Hover"),
        ({"contents": "x", "range": {"start": {"line": -1, "character": 0}, "end": RANGE["end"]}}, "not be negative"),
        ({"contents": "x", "range": {"start": {"line": 0.5, "character": 0}, "end": RANGE["end"]}}, "an integer"),
        ({"contents": "x", "range": {"start": {"line": True, "character": 0}, "end": RANGE["end"]}}, "an integer"),
        ({"contents": "x", "range": {"start": {"line": 2**31, "character": 0}, "end": RANGE["end"]}}, "an integer"),
        ([], "must be"),
    ],
)
def test_bad_results_are_named(result: Any, words: str):
    assert words in "\n".join(hover(result))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"method": "window/logMessage"}, "no JSON-RPC 2.0 message"),
        ([], "no JSON-RPC 2.0 message"),
        (call("window/logMessage", {"type": 9, "message": "x"}), "9 is no MessageType"),
        (call("window/logMessage", {"type": 1}), "message: is missing"),
        (call("window/logMessage"), "must be an object"),
        (call("window/logMessage", {"type": 1, "message": "x"}, id=1), "is a notification"),
        (call("window/logMessage", {"type": 1, "message": "x"}, extra=1), "extra is no member of a message"),
        (call("textDocument/hover", {}, id=1), "is not the server's to send"),
        (call("$/own"), "is no method of LSP"),
        (call("workspace/applyEdit", {"edit": {}}, id=1), "the client did not announce workspace.applyEdit"),
        (
            call("client/registerCapability", {"registrations": [{"id": "1", "method": "textDocument/hover"}]}, id=1),
            "did not announce the registration",
        ),
        ({"jsonrpc": "2.0", "id": 7, "result": None}, "which nobody waits for"),
        ({"jsonrpc": "2.0", "id": 7}, "either a result or an error"),
        ({"jsonrpc": "2.0", "id": 7, "result": 1, "error": {"code": 1, "message": "x"}}, "either a result or an error"),
        ({"jsonrpc": "2.0", "id": None, "error": {"code": "x"}}, "the error is none"),
        (
            call("textDocument/publishDiagnostics", {"uri": "file:///a", "diagnostics": [{"range": RANGE}]}),
            "diagnostics[0].message: is missing",
        ),
        (call("$/progress", {"token": "t", "value": {"kind": "begin", "title": "x"}}), "cannot begin"),
        (call("$/progress", {"token": "t", "value": {"kind": "report"}}), "has not begun"),
    ],
)
def test_what_a_server_must_not_say(message: Any, words: str):
    assert words in "\n".join(from_server(message))


def test_an_answer_is_given_once():
    checker = session()
    checker.sent_by_client(call("shutdown", id=2))
    assert checker.unanswered() == ["shutdown (2)"]
    checker.sent_by_server({"jsonrpc": "2.0", "id": 2, "result": None})
    assert checker.problems() == checker.unanswered() == []
    checker.sent_by_server({"jsonrpc": "2.0", "id": 2, "result": None})
    assert "nobody waits for" in checker.problems()[0]


def test_before_initialize_is_answered_little_may_be_said():
    checker = Checker()
    checker.sent_by_server(call("window/logMessage", {"type": 3, "message": "early"}))
    assert checker.problems() == []
    checker.sent_by_server(call("textDocument/publishDiagnostics", {"uri": "file:///a", "diagnostics": []}))
    assert "before initialize" in checker.problems()[0]


def test_progress_goes_forward():
    checker = session({"window": {"workDoneProgress": True}})

    def progress(**value: Any) -> str:
        checker.found.clear()
        checker.sent_by_server(call("$/progress", {"token": "t", "value": value}))
        return "\n".join(checker.problems())

    checker.sent_by_server(call("window/workDoneProgress/create", {"token": "t"}, id=1))
    assert checker.problems() == []
    assert progress(kind="begin", title="x", percentage=10) == ""
    assert progress(kind="report", percentage=20, message="y") == ""
    assert "goes from 20 to 10" in progress(kind="report", percentage=10)
    assert "title: is no member" in progress(kind="report", title="x")
    assert progress(kind="end") == ""
    assert "has not begun" in progress(kind="end")


def test_clients_may_be_newer_than_the_types():
    session({"textDocument": {"hover": {"somethingNew": True}}})


def test_own_methods_are_checked_against_their_schema(tmp_path: Path):
    path = tmp_path / "ridgeline.schema.json"
    path.write_text(
        json.dumps(
            {
                "$defs": {"id": {"type": "string"}},
                "methods": {
                    "ridgeline/summary": {
                        "params": {"type": "object", "required": ["id"], "properties": {"id": {"$ref": "#/$defs/id"}}},
                        "result": {"type": "object"},
                    }
                },
            }
        )
    )
    checker = session(own=OwnMethods(path))
    checker.sent_by_client(call("ridgeline/summary", {"id": "p1"}, id=2))
    checker.sent_by_server({"jsonrpc": "2.0", "id": 2, "result": {}})
    assert checker.problems() == []
    checker.sent_by_client(call("ridgeline/summary", {"id": 7}, id=3))
    checker.sent_by_server({"jsonrpc": "2.0", "id": 3, "result": None})
    checker.sent_by_client(call("ridgeline/other", {}, id=4))
    words = "\n".join(checker.problems())
    assert "ridgeline/summary params.id: 7 is not of type 'string'" in words
    assert "ridgeline/summary result: None is not of type 'object'" in words
    assert "ridgeline/other: is not in" in words
