"""What an editor is told while a profile runs: the bar, the lens above the provider, and how long it still takes."""

from __future__ import annotations

import re
from typing import Any

from .editor import Editor


def lenses_while_profiling(editor: Editor, document: dict[str, Any]) -> list[str]:
    """The first lens, asked for whenever the server says that lenses have changed, until the profile has ended."""
    editor.progress.clear()
    profile = editor.wire.begin("ridgeline/profile", document)
    titles = []
    while True:
        message = editor.wire.receive()
        assert message is not None, "the connection ended"
        if "method" in message:
            editor.handle(message)
            if message["method"] == "workspace/codeLens/refresh":
                editor.wire.begin("textDocument/codeLens", document)
        elif message["id"] == profile:
            assert "error" not in message, message
            return titles
        else:
            titles.append(message["result"][0]["command"]["title"])


def test_the_lens_follows_the_phase_and_the_second_profile_says_how_long_it_takes(editor: Editor) -> None:
    document = editor.open(editor.folder / "entry.py")
    for is_known in (False, True):
        titles = lenses_while_profiling(editor, document)
        assert any("Recording" in title for title in titles), titles
        assert any("Timing" in title for title in titles), titles
        shown = [value for value in editor.progress if value["kind"] == "report"]
        assert max(value["percentage"] for value in shown) <= 95
        left = [value["message"] for value in shown if re.search(r", about \d+ (s|min) left$", value["message"])]
        assert bool(left) == is_known, shown
