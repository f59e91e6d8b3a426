"""`ridgeline mcp` with the official inspector as its client. The official conformance suite speaks HTTP alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import BINARY, PYTHON, ROOT
from test_mcp import ENTRY, NET

INSPECTOR = ROOT / "tests" / "integration" / "mcp_inspector" / "node_modules" / ".bin" / "mcp-inspector"

pytestmark = pytest.mark.long


def inspected(project: Path, method: str, *arguments: str) -> dict[str, Any]:
    """What the inspector got, having checked it against the specification."""
    server = [str(BINARY), "mcp", "--project", str(project), "--python", PYTHON]
    command = [str(INSPECTOR), "--cli", *server, "--method", method, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "entry.py").write_text(ENTRY)
    return tmp_path


def test_the_lists(project: Path) -> None:
    tools = {tool["name"]: tool for tool in inspected(project, "tools/list")["tools"]}
    assert {"profile", "costliest", "try_change", "job", "more"} <= set(tools)
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools.values())
    assert {one["name"] for one in inspected(project, "resources/list")["resources"]} >= {"glossary", "skill"}
    assert len(inspected(project, "prompts/list")["prompts"]) == 3


def test_resources_and_prompts(project: Path) -> None:
    read = inspected(project, "resources/read", "--uri", "ridgeline://glossary")
    assert read["contents"][0]["mimeType"] == "text/markdown" and read["contents"][0]["text"].startswith("# ")
    asked = inspected(project, "prompts/get", "--prompt-name", "make_it_fit")
    assert "entry.py" in asked["messages"][0]["content"]["text"]


def test_without_anyone_to_ask_nothing_runs(project: Path) -> None:
    result = inspected(project, "tools/call", "--tool-name", "profile")
    assert result["isError"] and "ridgeline mcp --allow entry.py" in result["content"][0]["text"]
    refused = inspected(project, "tools/call", "--tool-name", "costliest", "--tool-arg", "of=operations")
    assert refused["isError"] and "Call profile" in refused["content"][0]["text"]
