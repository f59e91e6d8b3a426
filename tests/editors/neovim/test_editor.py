"""What Neovim knows after each thing a user does with a profile: messages, diagnostics, signs, lists. The tests that
leave the code as it was share a Neovim; each of the others has one, and a daemon that knows no profile.
"""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from conftest import BARS, BINARY, DIGITS, ROOT, Editor, daemon_of, line_of, open_bars, project, wait_for
from sshd import serving

TRAIN = """\
import sys
import torch
from torch import nn

model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print("learning rate", optimizer.param_groups[0]["lr"], *sys.argv[1:])
while True:
    optimizer.zero_grad()
    loss = model(torch.randn(32, 64)).square().mean()
    loss.backward()
    optimizer.step()
"""


def test_nothing_runs_without_consent(editor: Editor):
    editor.neovim.exec_lua("consent = 'Not now'")
    editor.neovim.command("Ridgeline profile")
    editor.said("permission was not given")
    assert "Profiling runs the code of" in editor.lua("asked[1]")
    assert editor.ask("ridgeline/summary", textDocument={"uri": editor.entry.as_uri()}) is None


def test_init_opens_an_entry_point_for_the_script(tmp_path: Path):
    """The names of a file never act as a command of Neovim, and nothing is written before the user does."""
    script = tmp_path / "a b%" / "train.py"
    script.parent.mkdir()
    script.write_text("from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n")
    with Editor(tmp_path, script) as editor:
        editor.neovim.command("Ridgeline init")
        editor.until("vim.api.nvim_buf_get_name(0):match('entry.py$') ~= nil")
        assert Path(editor.lua("vim.api.nvim_buf_get_name(0)")) == script.with_name("entry.py")
        assert "return Net()" in "\n".join(editor.neovim.current.buffer[:])
        assert "NotImplementedError" in editor.lua("vim.api.nvim_get_current_line()")
        assert editor.lua("vim.bo.modified") and not script.with_name("entry.py").exists()


def test_a_training_script_runs_as_it_is(tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    with Editor(tmp_path, script) as editor:
        editor.neovim.buffers[1][:] = [line.replace("lr=0.1", "lr=0.2") for line in editor.neovim.buffers[1][:]]
        editor.neovim.command("Ridgeline profile --epochs 2")
        editor.said("profiled: ")
        assert "lr=0.2" in script.read_text()  # what runs is what is on the disk
        assert "train.py --epochs 2" in editor.lua("asked[1]")
        editor.until("require('ridgeline.session').summary(1)")
        assert editor.lua("require('ridgeline.session').summary(1).batchSize") == 32
        shown = "vim.inspect(vim.api.nvim_buf_get_extmarks(1, -1, 0, -1, { details = true }))"
        editor.until(f"{shown}:find(' %%') ~= nil")
        editor.neovim.command("Ridgeline log")
        assert "Output of the script:\nlearning rate 0.2 --epochs 2" in editor.text()


def test_progress_is_told_as_lsp_progress(profiled: Editor):
    kinds = profiled.lua("kinds")
    assert kinds[0] == "begin" and kinds[-1] == "end" and kinds.count("report") >= 3


def test_without_a_subcommand_all_are_listed_and_enter_runs_one(profiled: Editor):
    profiled.neovim.command("Ridgeline")
    names = [line.split()[0] for line in profiled.neovim.current.buffer[:]]
    assert sorted(names) == profiled.lua("require('ridgeline.command').complete('', 'Ridgeline ')")
    profiled.neovim.current.window.cursor = (1 + names.index("breakdown"), 0)
    profiled.neovim.feedkeys("\r")
    profiled.until("vim.api.nvim_buf_get_name(0):find('breakdown', 1, true)")
    profiled.neovim.feedkeys("q")


def test_statusline_is_the_state_in_words(editing: Editor):
    status = "require('ridgeline').statusline()"
    assert "samples/s · 9.46 MiB" in editing.lua(status)
    assert "stale" not in editing.lua(status)
    editing.neovim.buffers[1].append("# changed")
    editing.until(f"{status}:find('(stale: from before entry.py was changed)', 1, true)")
    assert editing.until("vim.inspect(vim.api.nvim_buf_get_extmarks(1, -1, 0, -1, { details = true })):find('(stale)')")


def test_a_line_that_calls_much_has_a_lighter_sign(profiled: Editor):
    rows = [line_of(profiled.entry, text) - 1 for text in ("logits = model(images)", "self.fc2(hidden)")]
    for row, group in zip(rows, ("RidgelineTotal", "RidgelineHeat"), strict=True):  # drawn anew after a test that edits
        of_row = f"vim.api.nvim_buf_get_extmarks(1, -1, {{ {row}, 0 }}, {{ {row}, -1 }}, {{ details = true }})"
        profiled.until(f"vim.inspect({of_row}):find('{group}', 1, true)")
    shown = profiled.lua("vim.api.nvim_buf_get_extmarks(1, -1, 0, -1, { details = true })")
    marks = {row: details for _, row, _, details in shown if "sign_hl_group" in details}
    outer, inner = (marks[row] for row in rows)
    assert outer["sign_hl_group"] == "RidgelineTotal" and inner["sign_hl_group"].startswith("RidgelineHeat")
    assert re.fullmatch(r"forward [\d.]+ % · backward [\d.]+ %", outer["virt_text"][0][0])


def test_what_is_uncertain_is_said_so(editing: Editor):
    editing.neovim.exec_lua(
        "session = require('ridgeline.session') summary, request = session.summary, session.request"
        " session.summary = function(...)"
        "   return vim.tbl_extend('force', summary(...), { uncertainty = 'Much varies.',"
        "     change = 'no change within the noise', warnings = { 'One.', 'Two\\n\\27[31m.' } }) end"
        " session.request = function(buffer, method, params, on_result, ...)"
        "   if method == 'ridgeline/summary' then"
        "     local answered = on_result"
        "     on_result = function(made)"
        "       answered(vim.tbl_extend('force', made, { uncertainty = 'Much varies.' })) end end"
        "   if method ~= 'ridgeline/profile' then return request(buffer, method, params, on_result, ...) end"
        "   on_result(vim.tbl_extend('force', session.summary(1), { profileId = 'another' })) end"
    )
    assert editing.lua("require('ridgeline').statusline()").startswith("≈ ")
    editing.neovim.command("Ridgeline breakdown")
    editing.until(
        "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n'):find('MLP +≈ [%d.]+ .s +[%d.]+ %%') ~= nil"
    )
    editing.neovim.command("close")
    editing.neovim.command("Ridgeline costliest")
    editing.until(
        "#vim.fn.getqflist() > 0 and vim.iter(vim.fn.getqflist()):all("
        "function(row) return row.text:find('^ *≈ ') or row.text:find('^ *0 ms') end)"
    )
    editing.neovim.command("cclose")
    editing.neovim.command("Ridgeline profile")
    assert re.fullmatch(r"profiled: ≈ [\d.]+ samples/s, 9.46 MiB; .*… \(2 warnings\)", editing.said("profiled"))
    editing.neovim.command("Ridgeline log")
    assert editing.text().startswith("Warnings of the profile:\nOne.\nTwo\n [31m.\n")
    assert "MiB; no change within the noise\n" in editing.text()
    editing.neovim.command("close")
    open_bars(editing)
    editing.until(f"{BARS}:find('throughput +≈ [%d.]+ samples/s') and {BARS}:find('Much varies.', 1, true)")
    editing.until(f"{BARS}:find('peak memory +9.46 MiB') ~= nil")  # which is exact all the same
    editing.neovim.exec_lua("session.summary, session.request = summary, request session.refresh(1)")


def test_cancel_leaves_what_there_was(editing: Editor):
    before = editing.lua("require('ridgeline.session').summary(1).profileId")
    editing.neovim.command("Ridgeline profile")
    editing.until("require('ridgeline.session').entry(1).profiling")
    editing.neovim.command("Ridgeline cancel")
    editing.said("cancelled")
    editing.until("not require('ridgeline.session').entry(1).profiling")
    editing.until("require('ridgeline.session').progress(1) == nil")
    assert editing.lua("require('ridgeline.session').summary(1).profileId") == before
    editing.neovim.command("Ridgeline cancel")
    editing.said("nothing is being profiled")


def test_toggle_hides_and_shows(editing: Editor):
    marks = "#vim.api.nvim_buf_get_extmarks(1, vim.api.nvim_get_namespaces()['ridgeline.signs'], 0, -1, {})"
    assert editing.lua(marks) > 5
    editing.neovim.command("Ridgeline toggle")
    editing.until(f"{marks} == 0")
    editing.neovim.command("Ridgeline toggle")
    editing.until(f"{marks} > 5")


# ---- what costs most


def quickfix(editor: Editor, command: str, title: str) -> list[dict[str, Any]]:
    editor.neovim.command(f"Ridgeline costliest {command}")
    editor.until("vim.bo.buftype == 'quickfix' and vim.fn.getqflist({ title = true }).title == ...", title)
    return editor.lua("vim.fn.getqflist()")


def costs(editor: Editor, kind: str) -> list[dict[str, Any]]:
    profile = editor.lua("require('ridgeline.session').summary(1).profileId")
    return editor.ask("ridgeline/costliest", profileId=profile)[kind]


def test_the_costliest_lines_lead_to_the_code(editing: Editor):
    entries, rows = quickfix(editing, "", "Ridgeline: costliest lines by time"), costs(editing, "lines")
    assert len(entries) == len(rows) > 5
    for entry, row in zip(entries, rows, strict=True):
        place = row.get("location")
        assert (entry["lnum"], entry["valid"]) == ((place["line"] + 1, 1) if place else (0, 0))
        assert entry["text"].endswith("  " + row["name"])
        for rule, value in (("duration", "timeMs"), ("share", "share"), ("bytes", "peakBytes")):
            assert editing.lua(f"require('ridgeline.text').{rule}(...)", row[value]) in entry["text"]
    second = [entry for entry in entries if entry["valid"]][1]
    editing.neovim.command("cfirst | cnext")
    assert editing.neovim.current.window.cursor[0] == second["lnum"]
    assert editing.neovim.current.buffer.number == second["bufnr"] == 1


def test_another_order_is_asked_for_in_the_list(editing: Editor):
    by_time = quickfix(editing, "operations", "Ridgeline: costliest operations by time")
    rows = costs(editing, "operations")
    assert [entry["text"].split("  ")[-1].split(", ")[0] for entry in by_time] == [row["name"] for row in rows]
    assert re.search(r"  linear, 4 calls$", "\n".join(entry["text"] for entry in by_time), re.MULTILINE)
    by_memory = quickfix(editing, "memory operations", "Ridgeline: costliest operations by memory")
    rows.sort(key=lambda row: -row["peakBytes"])
    assert [entry["text"].split("  ")[-1].split(", ")[0] for entry in by_memory] == [row["name"] for row in rows]


def test_types_of_modules_lead_to_their_classes(editing: Editor):
    title = "Ridgeline: costliest module types (including what is inside) by time"
    entries = quickfix(editing, "modules", title)
    mine = next(entry for entry in entries if entry["text"].endswith("  MLP"))
    assert (mine["bufnr"], mine["lnum"]) == (1, line_of(editing.entry, "class MLP"))
    editing.neovim.buffers[1].append("# changed")
    editing.until("require('ridgeline.session').stale_note(1)")
    quickfix(editing, "modules", f"{title}; stale: from before entry.py was changed")


def test_names_of_costs_are_text(editing: Editor):
    def row(name: str, size: int, **more: Any) -> dict[str, Any]:
        return {"name": name, "timeMs": 1, "share": 0.1, "peakBytes": size, "peakShare": 0.1, **more}

    strange = editing.entry.parent.as_uri() + "/%60ls%60%20%23%0A.py"
    rows = [
        row("a|b\n\x1b[31m%#Error#\0", 1, location={"uri": strange, "line": 2}),
        row("of no file", 2, location={"uri": "untitled:x", "line": 2}),
        row("… 213 more", 3),
    ]
    editing.neovim.exec_lua(
        "session, rows = require('ridgeline.session'), ... request = session.request"
        " session.request = function(_, _, _, on_result)"
        "   session.request = request on_result({ lines = rows }) end"
        " local with_profile = session.with_profile"
        " session.with_profile = function(...) session.with_profile = with_profile select(2, ...)(1) end",
        rows,
    )
    entries = quickfix(editing, "memory", "Ridgeline: costliest lines by memory")
    names = ["of no file", "a|b  [31m%#Error# ", "… 213 more"]
    assert [entry["text"].split("ms  ", 1)[1] for entry in entries] == names
    assert [entry["valid"] for entry in entries] == [0, 1, 0]
    assert editing.text().splitlines()[1].startswith("`ls` # .py|3| ")


def test_a_file_of_the_project_stands_for_its_entry_point(tmp_path: Path):
    entry = project(tmp_path)
    text = entry.read_text()
    head, model, rest = re.split("(?=^class MLP|^def device)", text, flags=re.MULTILINE)
    (entry.parent / "net.py").write_text(head + model)
    entry.write_text(head + "from net import MLP\n\n\n" + rest)
    with Editor(tmp_path, entry) as editor:
        editor.profile()
        editor.neovim.command("edit net.py")
        net = editor.neovim.current.buffer.number
        editor.until(f"require('ridgeline.session').uri({net}):match('entry.py$')")
        editor.neovim.command("Ridgeline breakdown")
        editor.until("vim.fn.search('^▸ MLP') > 0")
        editor.neovim.input("/^▸ MLP<CR>gD")
        editor.until("vim.api.nvim_get_current_line():find('class MLP', 1, true)")
        assert editor.neovim.current.buffer.number == net
        editor.neovim.command("Ridgeline bars")
        editor.until("vim.api.nvim_get_current_line():find('throughput')")
        editor.neovim.input("l")
        wait_for(lambda: editor.batch_size() == 65, editor.state)


# ---- another machine


def test_a_profile_on_another_machine_survives_the_connection(tmp_path: Path):
    agents = Path(os.environ.get("RIDGELINE_CACHE", ROOT / "build" / "cache")) / "agents"
    with serving(agents) as host:
        command = [str(BINARY), "remote", *host.options, host.name]
        with Editor(tmp_path, project(tmp_path), RIDGELINE_COMMAND=json.dumps(command)) as editor:
            editor.neovim.command("Ridgeline profile")
            editor.until("(require('ridgeline.session').progress(1) or ''):find('Timing')")
            host.drop_connections()
            editor.said("profiled: ")
            assert host.processes("serve --pipe"), "it is there that it ran"
            marks = "#vim.api.nvim_buf_get_extmarks(1, vim.api.nvim_get_namespaces()['ridgeline.signs'], 0, -1, {})"
            editor.until(f"{marks} > 5")
            editor.neovim.command("Ridgeline bars")
            editor.until("vim.api.nvim_get_current_line():find('throughput') ~= nil")
            editor.neovim.input("l")
            editor.until(f"{DIGITS} == '65'")


def test_a_server_on_another_machine_needs_nothing_here_but_ssh(tmp_path: Path):
    """As on a Mac, where there is no program."""
    agents = Path(os.environ.get("RIDGELINE_CACHE", ROOT / "build" / "cache")) / "agents"
    with serving(agents) as host:
        command = ["ssh", "-T", *host.ssh_options, "--", host.name, f"{BINARY} serve --stdio"]
        with Editor(tmp_path, project(tmp_path), RIDGELINE_COMMAND=json.dumps(command)) as editor:
            editor.neovim.command("Ridgeline profile")
            editor.said("profiled: ")
            assert host.processes("serve --stdio"), "it is there that it ran"


# ---- failures


# The figures shown are those of a profile that has ended, not its first ones, and not of the one named.
MADE = """(function(before)
  local session = require('ridgeline.session')
  local id, entry = session.summary(1).profileId, session.entry(1)
  return id ~= before and not entry.profiling and id == entry.profileId
end)(...)"""


def test_broken_code_is_a_diagnostic_on_its_line_and_save_profiles_again(editing: Editor):
    before = editing.lua("require('ridgeline.session').summary(1).profileId")
    line = line_of(editing.entry, "return self.fc4(hidden)")
    buffer = editing.neovim.buffers[1]
    good = buffer[line - 1]
    buffer[line - 1] = '        raise RuntimeError("%#Error#\\x1b[31mboom")'
    editing.neovim.command("write")
    message = editing.said("boom")
    assert message.endswith(" (:Ridgeline log)")
    assert "\x1b" not in message
    shown = editing.until("vim.diagnostic.get(1, { severity = 1 })")
    assert [(one["lnum"], one["source"]) for one in shown] == [(line - 1, "ridgeline")]
    assert "boom" in shown[0]["message"]
    editing.neovim.command("Ridgeline log")
    editing.neovim.command("Ridgeline log")
    log = editing.text()
    assert f"{editing.entry}:{line} in forward" in log and "[exception]" in log
    assert "\x1b" not in log
    editing.neovim.command("close")
    buffer[line - 1] = good.replace("return", 'return __import__("time").sleep(0.1) or')
    editing.neovim.command("write")
    editing.until("#vim.diagnostic.get(1, { severity = 1 }) == 0")
    editing.until(MADE, before)
    mended = editing.lua("require('ridgeline.session').summary(1).profileId")
    slower, *_ = [entry["text"] for entry in quickfix(editing, "", "Ridgeline: costliest lines by time")]
    change = costs(editing, "lines")[0].get("change")  # none on a busy machine
    assert slower.endswith(f" ({change['label']})" if change else "self.fc4(hidden)"), slower
    editing.neovim.command("cclose")
    buffer[line - 1] = good
    editing.neovim.command("write")
    editing.until(MADE, mended)


@pytest.mark.long
def test_a_killed_daemon_comes_back_with_its_profiles(editor: Editor):
    editor.profile()
    summary = "require('ridgeline.session').summary(1)"
    before = editor.lua(f"{summary}.peakBytes")
    first = daemon_of(editor.process.pid)
    os.kill(first, signal.SIGSEGV)
    assert "signal 11" in editor.said("is being restarted")
    editor.until(f"({summary} or {{}}).peakBytes == ...", before)
    second = daemon_of(editor.process.pid)
    assert second != first
    os.kill(second, signal.SIGKILL)  # one that dies at once again is not started without end
    assert "signal 9" in editor.said(":Ridgeline restarts it")
    editor.until("#vim.lsp.get_clients({ name = 'ridgeline' }) == 0")
    editor.forget()
    editor.profile()
    editor.until(f"({summary} or {{}}).batchSize == 64")
