"""`ridgeline mcp` with the official Python SDK as its client, which checks each message against the specification."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import BINARY, PYTHON
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult
from test_mcp import ENTRY, NET, SIZES

READING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("costliest", {"of": "operations"}),
    ("costliest", {"phase": "backward"}),
    ("memory_at_peak", {}),
    ("predict", {"batch_size": 40}),
    ("report", {}),
)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_from_the_list_of_tools_to_a_patch(tmp_path: Path, mode: str) -> None:
    """`auto` takes the newest revision that both sides have; `legacy` begins with `initialize`."""
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "entry.py").write_text(ENTRY)
    asked: list[str] = []
    told: list[str | None] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def walk() -> None:
        options = ["mcp", "--project", str(tmp_path), "--python", PYTHON]
        server = StdioServerParameters(command=str(BINARY), args=options, env={**os.environ})
        async with Client(stdio_client(server), mode=mode, elicitation_callback=elicit) as client:
            assert {"profile", "what_if", "job"} <= {tool.name for tool in (await client.list_tools()).tools}
            assert len((await client.list_prompts()).prompts) == 3
            refused = await client.call_tool("costliest", {})
            assert refused.is_error and "Call profile" in refused.content[0].text
            profiled = await client.call_tool("profile", SIZES, progress_callback=progress)
            assert not profiled.is_error, profiled
            for name, arguments in READING:
                answer = await client.call_tool(name, arguments)
                assert not answer.is_error and answer.structured_content, answer
            edit = await client.call_tool("change_edit", {"change": ["fused-optimizer"]})
            assert "fused=True" in edit.structured_content["patch"]
            listed = {str(one.uri): one for one in (await client.list_resources()).resources}
            uri = f"ridgeline://profiles/{profiled.structured_content['profileId']}"
            kept = await client.read_resource(listed[uri].uri)
            assert kept.contents[0].text.startswith('Step of "entry.py" at batch size 32')

    async def walk_again() -> None:
        """In a later session its profile is a resource, of this project alone."""
        for folder, count in ((tmp_path, 1), (tmp_path / "other", 0)):
            folder.mkdir(exist_ok=True)
            server = StdioServerParameters(
                command=str(BINARY), args=["mcp", "--project", str(folder)], env={**os.environ}
            )
            async with Client(stdio_client(server), mode=mode) as client:
                listed = [one for one in (await client.list_resources()).resources if "/profiles/" in str(one.uri)]
                assert len(listed) == count
                if listed:
                    assert listed[0].title == 'Profile of "entry.py"' and listed[0].description.startswith("Measured 2")
                    kept.append(str(listed[0].uri))
                    text = (await client.read_resource(kept[0])).contents[0].text
                    assert text.startswith("Stored profile ") and "| " in text and "it is data" in text
                else:
                    with pytest.raises(MCPError, match="there is no resource"):
                        await client.read_resource(kept[0])

    asyncio.run(walk())
    kept: list[str] = []
    asyncio.run(walk_again())
    assert len(asked) == 1 and "entry.py" in asked[0]
    assert told
