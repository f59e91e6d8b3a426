"""A recorded run is replayed as it was made, also for the same project elsewhere (tests/recorded)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .editor import Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import Daemon, Wire

RAN = "open(__file__ + '.ran', 'a').write('x')\n"  # when the file is imported


def everything_about(editor: Editor, entry: Path) -> dict[str, Any]:
    """All that is said of a profile, with its folder as `<folder>`; without its name and its time."""
    document = editor.open(entry)
    made = editor.ask("ridgeline/profile", document)
    found = {"summary": editor.ask("ridgeline/summary", document), "hints": editor.ask("ridgeline/predictions", made)}
    del found["summary"]["createdSeconds"]
    text = json.dumps(found).replace(str(entry.parent), "<folder>").replace(made["profileId"], "<profile>")
    return json.loads(text)


def test_a_replayed_run_says_what_the_recorded_one_said(
    tmp_path: Path, stdio: Callable[..., tuple[Daemon, Wire]]
) -> None:
    said = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        entry = copy_of_mlp(tmp_path / name)
        entry.write_text(entry.read_text() + RAN)
        _, wire = stdio(env=cache(tmp_path / name) | {"RIDGELINE_RECORDED_RUNS": str(tmp_path / "runs")})
        editor = Editor(wire, entry.parent, dict(SETTINGS))
        editor.begin()
        said.append(everything_about(editor, entry))
        assert Path(f"{entry}.ran").exists() == (name == "first")
        editor.ask("shutdown")
        wire.notify("exit")
    assert said[0] == said[1]
    assert said[0]["summary"]["timeMs"] > 0
