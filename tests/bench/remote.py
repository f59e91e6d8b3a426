"""What a user waits for when the code runs on another machine: Neovim here, `ridgeline remote` to a real sshd there,
and between the two a network without delay, and one of 30 ms there and back.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "remote"), str(ROOT / "tests" / "editors" / "neovim")]

DELAYS = (0, 0.03)

# Each does something and says when it shows; between the two, requests are counted that the server is asked.
LUA = """
local session = require("ridgeline.session")
local requests = 0
vim.api.nvim_create_autocmd("LspRequest", { callback = function(event)
  if event.data.request.type == "pending" then requests = requests + 1 end
end })
local function floats()
  return vim.tbl_filter(function(w) return vim.api.nvim_win_get_config(w).relative ~= "" end, vim.api.nvim_list_wins())
end
local function digits() return vim.api.nvim_buf_get_lines(1, 0, -1, false)[40]:match("= (%d+)") end
local function shown() return table.concat(vim.api.nvim_buf_get_lines(0, 2, 3, false)):match("batch size%s+(%d+)") end
local function key(keys) vim.api.nvim_feedkeys(vim.keycode(keys), "xt", false) end
local function quiet() vim.wait(400) end

function timed(act, done)
  quiet()
  requests = 0
  local start = vim.uv.hrtime()
  act()
  local at_once = requests
  assert(vim.wait(30000, done, 1), "in vain")
  local ms = (vim.uv.hrtime() - start) / 1e6
  return { ms, math.max(at_once, requests) }
end

function hover()
  vim.api.nvim_win_set_cursor(0, { 27, 10 })
  local result = timed(vim.lsp.buf.hover, function() return #floats() > 0 end)
  for _, window in ipairs(floats()) do vim.api.nvim_win_close(window, true) end
  return result
end

function drill_in()
  vim.cmd("Ridgeline breakdown")
  vim.wait(30000, function() return vim.bo.filetype == "ridgeline" and vim.api.nvim_buf_line_count(0) > 4 end, 1)
  vim.fn.search("^▸ MLP")
  local before = vim.fn.getline(1, "$")
  local function has_changed() return not vim.deep_equal(before, vim.fn.getline(1, "$")) end
  local result = timed(function() key("<CR>") end, has_changed)
  vim.cmd("close")
  return result
end

function drag()
  vim.cmd("Ridgeline bars")
  vim.wait(30000, function() return vim.bo.filetype == "ridgeline" and shown() ~= nil end, 1)
  local all = {}
  for turn = 1, 5 do
    local before = shown()
    all[#all + 1] = timed(function() key(turn % 2 == 1 and "H" or "L") end, function() return shown() ~= before end)
    vim.wait(30000, function() return digits() == shown() end, 1)
  end
  local before = digits()
  local follows = timed(function() key("L") end, function() return digits() ~= before end) -- back to where it was
  vim.cmd("close")
  return { all, follows }
end

function save()
  vim.fn.append(vim.fn.line("$"), "# saved")
  vim.wait(30000, function() return session.stale_note(1) ~= nil end, 1)
  local before = session.summary(1).profileId
  return timed(function() vim.cmd("silent write") end, function()
    return session.summary(1).profileId ~= before and not session.stale_note(1)
  end)
end
"""


def at_delay(binary: Path, delay: float, rounds: int) -> dict[str, list[tuple[float, int]]]:
    import conftest as neovim  # of tests/editors/neovim
    import network
    from sshd import serving

    agents = Path(os.environ.get("RIDGELINE_CACHE", ROOT / "build" / "cache")) / "agents"
    found: dict[str, list[tuple[float, int]]] = {}
    with (
        network.network(delay) as between,
        serving(agents, between.there.address, between.there.inside) as host,
        tempfile.TemporaryDirectory() as name,
    ):
        command = [*between.here.inside, str(binary), "remote", *host.options, host.name]
        folder = Path(name)
        with neovim.Editor(folder, neovim.project(folder), RIDGELINE_COMMAND=json.dumps(command)) as editor:
            editor.profile()
            editor.neovim.exec_lua(LUA)

            def note(action: str, result: Any) -> None:
                found.setdefault(action, []).append((result[0], result[1]))

            for number in range(rounds + 1):
                if number == 1:
                    found.clear()  # the first round warms up
                note("hover", editor.lua("hover()"))
                note("breakdown, one level in", editor.lua("drill_in()"))
                moves, follows = editor.lua("drag()")
                for move in moves:
                    note("drag: the bars show it", move)
                note("drag: the code follows", follows)
                note("save → markers", editor.lua("save()"))
    return found


def run(binary: Path, table: Callable[[list[str], list[list[str]]], None], rounds: int) -> None:
    near, far = (at_delay(binary, delay, rounds) for delay in DELAYS)
    rows = []
    for action in near:
        times = [median(ms for ms, _ in each[action]) for each in (near, far)]
        asked = max(requests for _, requests in far[action])
        trips = (times[1] - times[0]) / (1000 * DELAYS[1])
        rows.append([action, str(asked), f"{times[0]:.1f}", f"{times[1]:.1f}", f"{trips:.1f}"])
    table(["until it shows", "requests", "ms at 0 ms", "ms at 30 ms", "round trips waited for"], rows)
