"""The figures of the plugin, against the rules that the server and the other editors follow."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from conftest import NEOVIM, ROOT

FIGURES = ROOT / "tests" / "data" / "figures.json"
CHECK = """
local text = require("ridgeline.text")
local wrong = {}
for rule, cases in pairs(vim.json.decode(table.concat(vim.fn.readfile(vim.env.FIGURES), "\\n"))) do
  for _, case in ipairs(cases) do
    local value = case[1]
    local shown = rule == "estimatedBytes" and text.estimated(value, text.bytes) or text[rule](value)
    if shown ~= case[2] then table.insert(wrong, ("%s of %s: %s"):format(rule, vim.inspect(value), shown)) end
  end
end
io.write(vim.json.encode(wrong))
vim.cmd.quit()
"""


def test_figures_are_formatted_by_the_rules_of_the_server(tmp_path: Path) -> None:
    script = tmp_path / "check.lua"
    script.write_text(CHECK)
    command = [
        str(NEOVIM),
        "--headless",
        "--clean",
        "--cmd",
        f"set rtp^={ROOT / 'editors' / 'neovim'}",
        "-l",
        str(script),
    ]
    done = subprocess.run(
        command, env={"FIGURES": str(FIGURES)}, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, json.loads(done.stdout or "null")) == (0, []), done.stderr
    assert len(json.loads(FIGURES.read_text())) == 5
