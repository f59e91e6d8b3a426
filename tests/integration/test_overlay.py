"""Unsaved texts run instead of what the files hold, and nothing else does."""

from __future__ import annotations

import compileall
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import importlib.util, json, sys, traceback
sys.path[:0] = [{runner!r}, {folder!r}]
from ridgeline_runner.common import overlay
overlay.install(json.loads(sys.argv[1]))
import helper
print(helper.VALUE, overlay.source_of({folder!r} + "/helper.py") == helper.__spec__.loader.get_data(helper.__file__))
try:
    helper.fail()
except ValueError:
    print(traceback.extract_tb(sys.exc_info()[2])[-1].line)
import other
print(other.VALUE)
"""


def run(folder: Path, overlay: str) -> list[str]:
    program = PROGRAM.format(runner=str(ROOT / "profiler" / "runner"), folder=str(folder))
    done = subprocess.run([sys.executable, "-c", program, overlay], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def write(folder: Path) -> None:
    (folder / "helper.py").write_text("VALUE = 1\ndef fail():\n    raise ValueError  # saved\n")
    (folder / "other.py").write_text("VALUE = 'other'\n")


def test_the_text_runs_and_is_shown(tmp_path: Path) -> None:
    write(tmp_path)
    compileall.compile_dir(str(tmp_path), quiet=1)  # what is compiled is of the saved file
    text = "VALUE = 2\\n\\n\\ndef fail():\\n    raise ValueError  # unsaved\\n"
    overlay = f'{{"{tmp_path}/helper.py": "{text}"}}'
    assert run(tmp_path, overlay) == ["2 True", "raise ValueError  # unsaved", "other"]


def test_without_texts_the_files_run(tmp_path: Path) -> None:
    write(tmp_path)
    assert run(tmp_path, "{}") == ["1 True", "raise ValueError  # saved", "other"]


def test_a_link_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    write(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    overlay = f'{{"{tmp_path}/real/helper.py": "VALUE = 2\\ndef fail():\\n    raise ValueError  # unsaved\\n"}}'
    assert run(tmp_path / "link", overlay)[0] == "2 True"


def test_an_encoding_named_in_the_text_counts(tmp_path: Path) -> None:
    write(tmp_path)
    text = "# -*- coding: latin-1 -*-\\nVALUE = '\u00e9'\\ndef fail():\\n    raise ValueError  # unsaved\\n"
    assert run(tmp_path, f'{{"{tmp_path}/helper.py": "{text}"}}')[0] == "\u00e9 True"
