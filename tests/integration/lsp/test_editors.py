"""A client library that we did not write (pytest-lsp), as the editors of this world announce themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cattrs.errors import BaseValidationError
from lsprotocol import types
from lsprotocol.converters import get_converter
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from .conftest import Recorded
from .editor import Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import Daemon, Wire

HELIX = Path(__file__).parent / "clients" / "helix.json"
EDITORS = ["visual-studio-code@1.65", "neovim@0.6", "neovim@0.9", "neovim@0.11", "emacs@29", "helix"]


def capabilities_of(editor: str) -> types.ClientCapabilities:
    if editor != "helix":
        return client_capabilities(editor.replace("-", "_"))
    try:
        return get_converter().structure(json.loads(HELIX.read_text())["capabilities"], types.ClientCapabilities)
    except BaseValidationError as problem:
        raise AssertionError(f"{HELIX.name} is not what a client announces") from problem


async def with_client(recorded: Recorded, editor: str) -> None:
    client: LanguageClient = make_test_lsp_client()
    await client.start_io(*recorded.command)
    folder = types.WorkspaceFolder(uri="file:///project", name="project")
    result = await client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities_of(editor), process_id=None, root_uri=folder.uri, workspace_folders=[folder]
        )
    )
    assert result.server_info and result.server_info.name == "ridgeline"
    general = capabilities_of(editor).general
    offered = (general and general.position_encodings) or []
    wanted = "utf-8" if "utf-8" in offered else "utf-16"
    assert result.capabilities.position_encoding == wanted
    uri = "file:///project/entry.py"
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri=uri, language_id="python", version=1, text="a😀b\n"))
    )
    start = types.Position(0, 1)
    change = types.TextDocumentContentChangePartial(
        range=types.Range(start, types.Position(0, 5 if wanted == "utf-8" else 3)), text="x"
    )
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(uri=uri, version=2), [change])
    )
    client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri=uri)))
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings={"ridgeline": {}}))
    client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri=uri)))
    await client.shutdown_session()
    process = client._server
    assert process is not None
    assert await asyncio.wait_for(process.wait(), 30) == 0
    await client.stop()


@pytest.mark.parametrize("editor", EDITORS)
def test_a_session(recorded: Recorded, editor: str):
    asyncio.run(with_client(recorded, editor))
    judged = recorded.judge()
    assert judged.unanswered() == []
    said = [line for line in recorded.log.read_text().splitlines() if json.loads(line)["from"] == "server"]
    assert said, "nothing was recorded"
    assert not any("out of sync" in line for line in said)


@pytest.mark.parametrize("name", ["visual-studio-code@1.65", "neovim@0.11", "emacs@29", "helix"])
def test_what_it_can_show_it_is_given(tmp_path: Path, stdio: Callable[..., tuple[Daemon, Wire]], name: str):
    """Profile, look, and change the batch size, with all that the editor announces and nothing more."""
    entry = copy_of_mlp(tmp_path)
    daemon, wire = stdio(env=cache(tmp_path))
    editor = Editor(wire, entry.parent, dict(SETTINGS))
    capabilities = get_converter().unstructure(capabilities_of(name))
    # Helix knows no window/showMessageRequest; its users agree in their settings.
    editor.begin(capabilities, initializationOptions={"trust": "editor"} if name == "helix" else None)
    document = editor.open(entry)
    uri = entry.as_uri()
    name_of = {"line": editor.line_of(uri, "def model_provider"), "character": 6}
    at_provider = {"range": {"start": name_of, "end": name_of}, "context": {"diagnostics": []}}
    (action,) = editor.ask("textDocument/codeAction", document | at_provider)
    command = action["command"]
    summary = editor.ask("workspace/executeCommand", {k: command[k] for k in ("command", "arguments")})
    place = {"line": editor.line_of(uri, "self.fc1("), "character": 25}
    hover = editor.ask("textDocument/hover", document | {"position": place})
    formats = capabilities["textDocument"]["hover"].get("contentFormat", [])
    assert hover["contents"]["kind"] == ("markdown" if "markdown" in formats else "plaintext")
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(editor.texts[uri].splitlines()), "character": 0}}
    if "inlayHint" in capabilities["textDocument"]:
        assert len(editor.ask("textDocument/inlayHint", document | {"range": whole})) > 3
    line = editor.line_of(uri, "def input_provider")
    signature = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    actions = editor.ask("textDocument/codeAction", document | {"range": signature, "context": {"diagnostics": []}})
    assert any(action["title"].startswith("Set batch size to") for action in actions)
    editor.type_over(uri, "def model_provider", "def model_provide")
    missing = lambda found: any(diagnostic["code"] == "provider-missing" for diagnostic in found)  # noqa: E731
    if capabilities.get("workspace", {}).get("diagnostics", {}).get("refreshSupport"):
        assert missing(editor.ask("textDocument/diagnostic", document)["items"])
    else:
        editor.until(lambda: missing(editor.diagnostics.get(uri, [])))
    editor.type_over(uri, "def model_provide", "def model_provider")
    change = {"command": "ridgeline.setBatchSize", "arguments": [uri, 48]}
    assert editor.ask("workspace/executeCommand", change)["applied"] is True
    assert "batch_size: int = 48)" in editor.texts[uri]
    assert editor.ask("ridgeline/summary", document)["profileId"] == summary["profileId"]
    editor.ask("shutdown")
    wire.notify("exit")
    assert daemon.wait() == 0
    wire.assert_conforms()
