"""Changes of single modules that an editor writes into the model provider: the step is then the predicted one."""

from __future__ import annotations

import sys
from pathlib import Path

from block_entries import entry_of_blocks
from conftest import ROOT

from .editor import Editor

sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from ridgeline_runner.changes import built_in  # noqa: E402
from ridgeline_runner.changes.change import Way  # noqa: E402
from ridgeline_runner.step import operation_log  # noqa: E402
from ridgeline_runner.step.entry import EntryPoint, load  # noqa: E402

PLAN = ["checkpoint:blocks.0", "selective-checkpoint:blocks.1..2"]
OFFLOAD = ["offload:blocks.3"]


def written(editor: Editor, name: str, change: list[str]) -> Path:
    entry = editor.folder / f"{name}.py"
    entry.write_text(entry_of_blocks([96, 128, 64, 32]))
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    edit = editor.ask("ridgeline/changeEdit", document | {"change": change})["edit"]
    assert editor.result_of("workspace/applyEdit", {"edit": edit}) == {"applied": True}
    entry.write_text(editor.texts[entry.as_uri()])
    return entry


def operations(path: Path, change: list[str], way: Way = Way.LISTED) -> list[str]:
    entry = EntryPoint.of(load(str(path), str(path.parent)), str(path))
    parts = built_in.build(entry, change, entry.batch_size, way)
    log = operation_log.log_step(lambda: parts.function(*parts.inputs), {})
    keys = list(log.keys)
    return [keys[key] for key, _, _, _ in log.sequence]


def test_a_plan_is_written_as_it_was_predicted(editor: Editor) -> None:
    plain = editor.folder / "plain.py"
    plain.write_text(entry_of_blocks([96, 128, 64, 32]))
    usual, planned = operations(plain, []), operations(plain, PLAN)
    assert len(planned) > len(usual)
    assert operations(written(editor, "planned", PLAN), []) == planned
    offloaded = written(editor, "offloaded", PLAN + OFFLOAD)
    copies = [key for key in operations(plain, PLAN + OFFLOAD, Way.LISTED_FOR_CUDA) if key.startswith('["aten::copy_.')]
    real = [key for key in operations(offloaded, []) if key.startswith('["aten::copy_.')]
    assert len(real) == len(copies) == 6, "both inputs and weights, what relu returns, and what square gets"
