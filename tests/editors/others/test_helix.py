"""Helix's configuration, and what the server answers to a client with Helix's capabilities. Helix itself is not run: no
package of it can be had here.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import tomllib
from lsprotocol import types
from lsprotocol.converters import get_converter
from pytest_lsp import LanguageClient, make_test_lsp_client

ROOT = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("RIDGELINE_BINARY", str(ROOT / "build" / "bin" / "ridgeline"))
CAPABILITIES = ROOT / "tests" / "integration" / "lsp" / "clients" / "helix.json"


def configuration() -> dict[str, Any]:
    return tomllib.loads((ROOT / "editors" / "helix" / "languages.toml").read_text())


def test_the_configuration_starts_the_server_for_python():
    [language] = configuration()["language"]
    assert language == {"name": "python", "language-servers": ["ridgeline"]}
    server = configuration()["language-server"]["ridgeline"]
    assert [server["command"], *server["args"]] == ["ridgeline", "serve"]


async def session(entry: Path) -> dict[str, Any]:
    config = configuration()["language-server"]["ridgeline"]["config"]
    config["ridgeline"] |= {"python": sys.executable, "timeBudget": 0.2, "batchSizes": [16, 256]}
    client: LanguageClient = make_test_lsp_client()
    client.set_configuration(config)
    await client.start_io(BINARY, "serve")
    folder = types.WorkspaceFolder(uri=entry.parent.as_uri(), name="project")
    capabilities = get_converter().structure(
        json.loads(CAPABILITIES.read_text())["capabilities"], types.ClientCapabilities
    )
    await client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities, root_uri=folder.uri, workspace_folders=[folder], initialization_options=config
        )
    )
    text, uri = entry.read_text(), entry.as_uri()
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))
    document = types.TextDocumentIdentifier(uri)

    def at(words: str) -> types.Position:
        before = text[: text.index(words)]
        return types.Position(before.count("\n"), len(before.rpartition("\n")[2]))

    await client.workspace_execute_command_async(types.ExecuteCommandParams("ridgeline.profile", [uri]))
    provider = types.Range(at("input_provider"), at("input_provider"))
    shown = {
        "hover": await client.text_document_hover_async(types.HoverParams(document, at("self.fc1(hidden)"))),
        "hints": await client.text_document_inlay_hint_async(
            types.InlayHintParams(document, types.Range(types.Position(0, 0), types.Position(1000, 0)))
        ),
        "actions": await client.text_document_code_action_async(
            types.CodeActionParams(document, provider, types.CodeActionContext([]))
        ),
    }
    name = types.Range(
        at("model_provider"), types.Position(at("model_provider").line, at("model_provider").character + 5)
    )
    change = types.TextDocumentContentChangePartial(range=name, text="a")
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, uri), [change])
    )
    while not any(one.code == "provider-missing" for one in client.diagnostics.get(uri, [])):
        await asyncio.wait_for(client.wait_for_notification("textDocument/publishDiagnostics"), 60)
    await client.shutdown_session()
    await client.stop()
    return shown


def test_the_standard_surface(tmp_path: Path):
    shutil.copytree(ROOT / "examples" / "mlp", tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__"))
    shown = asyncio.run(session(tmp_path / "project" / "entry.py"))
    assert "1 call in one iteration, batch 64" in shown["hover"].contents.value
    assert "3.07 MiB" in [hint.label for hint in shown["hints"]]
    assert any(action.title.startswith("Set batch size to 128: ") for action in shown["actions"])
