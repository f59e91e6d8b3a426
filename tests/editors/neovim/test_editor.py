"""What Neovim knows after each thing a user does: messages, diagnostics, digits, undo steps. Each test has a Neovim of
its own, and a daemon of its own that knows no profile but what the test makes.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import BINARY, HERE, ROOT, Editor, daemon_of, line_of, project, wait_for
from sshd import serving

DIGITS = "vim.api.nvim_buf_get_lines(1, 0, -1, false)[40]:match('= (%d+)')"


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Shared by tests that leave the code as it was."""
    folder = tmp_path_factory.mktemp("profiled")
    with Editor(folder, project(folder)) as editor:
        editor.neovim.exec_lua(
            "kinds = {} vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)"
            " table.insert(kinds, event.data.params.value.kind) end })"
        )
        editor.profile()
        yield editor


@pytest.fixture
def editing(profiled: Editor) -> Any:
    before = profiled.neovim.buffers[1][:]
    profiled.forget()
    yield profiled
    profiled.neovim.exec_lua(
        "for _, window in ipairs(vim.api.nvim_list_wins()) do"
        "  if vim.api.nvim_win_get_buf(window) ~= 1 then vim.api.nvim_win_close(window, true) end end"
    )
    if profiled.neovim.buffers[1][:] != before:
        profiled.neovim.buffers[1][:] = before
    profiled.neovim.command("set nomodified")  # the file was never changed, or is what it was
    profiled.until("not require('ridgeline.session').stale_note(1) and not require('ridgeline.session').progress(1)")


BARS = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('ridgeline://bars'), 0, -1, false), '\\n')"


def open_bars(editor: Editor) -> None:
    editor.neovim.command("Ridgeline bars")
    editor.until("vim.bo.filetype == 'ridgeline' and vim.api.nvim_get_current_line():find('throughput') ~= nil")


# ---- a profile


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
        editor.neovim.command("Ridgeline run --epochs 2")
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


def test_statusline_is_the_state_in_words(editing: Editor):
    status = "require('ridgeline').statusline()"
    assert "samples/s · 9.46 MiB" in editing.lua(status)
    assert "stale" not in editing.lua(status)
    editing.neovim.buffers[1].append("# changed")
    editing.until(f"{status}:find('(stale: from before entry.py was changed)', 1, true)")
    assert editing.until("vim.inspect(vim.api.nvim_buf_get_extmarks(1, -1, 0, -1, { details = true })):find('(stale)')")


def test_a_line_that_calls_much_has_a_lighter_sign(profiled: Editor):
    shown = profiled.lua("vim.api.nvim_buf_get_extmarks(1, -1, 0, -1, { details = true })")
    marks = {row: details for _, row, _, details in shown if "sign_hl_group" in details}
    outer = marks[line_of(profiled.entry, "logits = model(images)") - 1]
    inner = marks[line_of(profiled.entry, "self.fc2(hidden)") - 1]
    assert outer["sign_hl_group"] == "RidgelineTotal" and inner["sign_hl_group"].startswith("RidgelineHeat")
    assert re.fullmatch(r"total [\d.]+ % of the step", outer["virt_text"][0][0])


def test_what_is_uncertain_is_said_so(editing: Editor):
    editing.neovim.exec_lua(
        "session = require('ridgeline.session') summary, request = session.summary, session.request"
        " session.summary = function(...)"
        "   return vim.tbl_extend('force', summary(...), { uncertainty = 'Much varies.',"
        "     change = 'no change within the noise', warnings = { 'One.', 'Two\\n\\27[31m.' } }) end"
        " session.request = function(buffer, method, params, on_result, ...)"
        "   if method ~= 'ridgeline/profile' then return request(buffer, method, params, on_result, ...) end"
        "   on_result(vim.tbl_extend('force', session.summary(1), { profileId = 'another' })) end"
    )
    assert editing.lua("require('ridgeline').statusline()").startswith("≈ ")
    editing.neovim.command("Ridgeline profile")
    assert re.fullmatch(r"profiled: ≈ [\d.]+ samples/s, 9.46 MiB; .*… \(2 warnings\)", editing.said("profiled"))
    editing.neovim.command("Ridgeline log")
    assert editing.text().startswith("Warnings of the profile:\nOne.\nTwo\n [31m.\n")
    assert "MiB; no change within the noise\n" in editing.text()
    editing.neovim.command("close")
    open_bars(editing)
    editing.until(f"{BARS}:find('throughput +≈ [%d.]+ samples/s') and {BARS}:find('Much varies.', 1, true)")
    editing.until(f"{BARS}:find('peak memory +9.46 MiB') ~= nil")  # which is exact all the same
    editing.neovim.exec_lua("session.summary, session.request = summary, request")


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


# ---- the batch size


@pytest.fixture
def held(editing: Editor) -> Iterator[Editor]:
    """Requests for an edit of the batch size wait in `held`; `release` sends the first one."""
    editing.neovim.exec_lua(
        "session, held = require('ridgeline.session'), {}"
        " request = session.request"
        " session.request = function(...)"
        "   if select(2, ...) ~= 'ridgeline/predict' then return request(...) end"
        "   table.insert(held, { ... }) end"
        " release = function() request(unpack(table.remove(held, 1))) end"
    )
    yield editing
    editing.neovim.exec_lua("session.request = request")


def test_keys_move_the_bars_at_once_and_one_edit_follows(held: Editor):
    held.neovim.exec_lua(
        "predictions = 0"
        " vim.api.nvim_create_autocmd('LspRequest', { callback = function(event)"
        "   local request = event.data.request"
        "   if request.type == 'complete' and request.method == 'ridgeline/predictions' then"
        "     predictions = predictions + 1 end end })"
    )
    open_bars(held)
    held.until("predictions == 1")
    held.neovim.input("l" * 30)
    held.until(f"{BARS}:find('batch size +94 ') ~= nil")
    held.until("#held == 1")
    assert held.lua("held[1][3].batchSize") == 94 and held.batch_size() == 64
    held.neovim.exec_lua("release()")
    held.until(f"{DIGITS} == '94'")
    held.neovim.exec_lua("session.request = request")
    held.neovim.input("<C-w>pj<C-w>p10h")  # by way of the code, which ends an undo step otherwise
    held.until(f"{DIGITS} == '84'")
    held.neovim.input("hhhq")  # closing does not wait for the keys to rest
    held.until(f"{DIGITS} == '81'")
    held.neovim.command("undo")
    assert held.batch_size() == 64
    assert held.lua("messages") == []


def test_what_a_later_key_replaced_is_no_failure(held: Editor):
    open_bars(held)
    held.neovim.input("l")
    held.until("#held == 1")
    held.neovim.input("l")
    held.neovim.exec_lua("local first = table.remove(held, 1) first[5]({ message = 'the text changed' })")
    held.until("#held == 1")
    held.neovim.exec_lua("session.request = request release()")
    held.until(f"{DIGITS} == '66'")
    assert held.lua("messages") == [] and "not written" not in held.lua(BARS)
    held.neovim.input("u")
    held.until(f"{DIGITS} == '64'")
    held.neovim.input("lu")  # taken back before it was written
    held.until(f"{BARS}:find('batch size +64 ') ~= nil")
    held.neovim.input("q")
    held.until("vim.bo.filetype == 'python'")
    assert held.batch_size() == 64


def test_an_obstacle_is_shown_in_the_bars(editing: Editor):
    line = line_of(editing.entry, "def input_provider") - 1
    editing.neovim.buffers[1][line] = "def input_provider(batch_size: int = int('64')):"
    open_bars(editing)
    editing.neovim.input("l")
    editing.until(f"{BARS}:find('not written: ', 1, true) ~= nil")
    assert "batch size  65" in editing.lua(BARS)
    editing.neovim.input("q")
    editing.until("vim.bo.filetype == 'python'")
    assert editing.lua("messages") == []


@pytest.fixture
def saving(editing: Editor) -> Iterator[Editor]:
    """Saves the code whenever it changes; `started` tells whether a profile began."""
    editing.neovim.exec_lua(
        "session, started = require('ridgeline.session'), false"
        " changed = session.changed"
        " session.changed = function(it) started = started or it.profiling changed(it) end"
        " group = vim.api.nvim_create_augroup('test', {})"
        " vim.api.nvim_create_autocmd('TextChanged', { group = group, nested = true, command = 'silent! wall' })"
    )
    yield editing
    editing.neovim.exec_lua("vim.api.nvim_del_augroup_by_id(group) session.changed = changed")


def settle(editor: Editor, keys: str, batch_size: int) -> None:
    editor.neovim.input(keys)
    editor.until(f"tonumber({DIGITS}) == ... and not vim.bo[1].modified", batch_size)
    assert f"batch_size: int = {batch_size})" in editor.entry.read_text()


def test_an_undo_brings_the_first_batch_size_back_although_the_code_is_saved(saving: Editor):
    open_bars(saving)
    settle(saving, "lll", 67)
    settle(saving, "l", 68)
    settle(saving, "u", 64)
    saving.until(f"{BARS}:find('batch size +64 +as profiled') ~= nil")
    settle(saving, "ll", 66)
    settle(saving, "<C-w>pj<C-w>pl", 67)
    saving.neovim.input("q")
    saving.until("vim.bo.filetype == 'python'")
    settle(saving, "u", 64)


def test_a_batch_size_that_is_saved_stays_predicted(saving: Editor):
    open_bars(saving)
    settle(saving, "llll", 68)
    saving.until("session.summary(1).batchSizeInCode == 68 and not session.progress(1)")
    saving.until("not (session.entry(1).trial or {}).running")
    assert not saving.lua("started") and saving.lua("session.summary(1).batchSize") == 64


def test_the_bars_offer_to_profile_with_what_they_show(editing: Editor):
    open_bars(editing)
    editing.neovim.input("l")
    editing.until(f"{BARS}:find('p profile with 65: [≈ ]*9[.]%d+ MiB at the peak, ≈ [%d.]+ [µm]s an iteration') ~= nil")
    editing.neovim.input("p")
    editing.said("profiled: ")
    editing.until("require('ridgeline.session').summary(1).batchSize == 65")
    editing.until(f"{BARS}:find('batch size +65 +as profiled') ~= nil")
    editing.neovim.input("u")
    editing.until(f"{DIGITS} == '64'")
    editing.neovim.input("p")
    editing.until("require('ridgeline.session').summary(1).batchSize == 64")


def test_a_batch_size_that_is_settled_on_is_tried(editing: Editor):
    open_bars(editing)
    editing.neovim.input("l" * 12)
    editing.until(f"{DIGITS} == '76'")
    assert re.search(r"batch size +76 +predicted", editing.lua(BARS))
    editing.until(f"{BARS}:match('batch size +76 +measured') ~= nil")
    profile = editing.lua("require('ridgeline.session').summary(1).profileId")
    measured = editing.ask("ridgeline/predict", profileId=profile, batchSize=76)["batch"]["measured"]
    assert editing.lua("require('ridgeline.text').figure(...)", measured["samplesPerSecond"]) in editing.lua(BARS)
    editing.neovim.input("q")
    editing.until("vim.bo.filetype == 'python'")


def test_a_tenth_moves_the_bar_that_is_chosen(editing: Editor):
    editing.neovim.buffers[1].append("# of the user")
    open_bars(editing)
    editing.neovim.input("u")  # nothing to take back: the code's own changes stay
    editing.neovim.input("jL")
    editing.until(f"tonumber({DIGITS}) > 64")
    summary = editing.lua("require('ridgeline.session').summary(1)")
    batches = editing.ask("ridgeline/predictions", profileId=summary["profileId"])["batches"]
    goal = 1.1 * next(batch["peakBytes"]["value"] for batch in batches if batch["batchSize"] == 64)
    first = next(batch["batchSize"] for batch in batches if batch["peakBytes"]["value"] >= goal)
    editing.until(f"tonumber({DIGITS}) == ...", first)
    assert editing.neovim.buffers[1][-1] == "# of the user"


def test_code_actions_edit_the_batch_size(editing: Editor):
    editing.neovim.current.window.cursor = (line_of(editing.entry, "def input_provider"), 0)
    editing.neovim.exec_lua(
        "vim.lsp.buf.code_action({ apply = true, filter = function(action)"
        " return action.title:find('Set batch size to 128', 1, true) end })"
    )
    editing.until(f"{DIGITS} == '128'")


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


# ---- failures


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
    buffer[line - 1] = good
    editing.neovim.command("write")
    editing.until("#vim.diagnostic.get(1, { severity = 1 }) == 0")
    editing.until("require('ridgeline.session').summary(1).profileId ~= ...", before)


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


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Editor]:
    """An editor in which the plugin is there and nothing has set it up."""
    with Editor(tmp_path, project(tmp_path), RIDGELINE_NO_SETUP="1") as editor:
        yield editor


def test_a_server_that_cannot_be_run_is_named(bare: Editor):
    bare.neovim.exec_lua("setup.cmd = { '/nowhere/ridgeline' } require('ridgeline').setup(setup)")
    bare.neovim.command("Ridgeline profile")
    bare.said("cannot run /nowhere/ridgeline")
    bare.neovim.command("checkhealth ridgeline")
    assert "/nowhere/ridgeline cannot be run" in bare.text()


# ---- ways to begin


def test_the_plain_config_is_enough(bare: Editor):
    bare.neovim.exec_lua(
        "vim.lsp.config('ridgeline', { cmd = setup.cmd, settings = { ridgeline = setup.settings } })"
        " vim.lsp.enable('ridgeline')"
    )
    bare.until("vim.lsp.get_clients({ name = 'ridgeline', bufnr = 1 })[1] ~= nil")
    bare.neovim.command("Ridgeline breakdown")
    bare.said("there is no profile here")


def test_without_vim_lsp_config_as_in_neovim_0_10(bare: Editor):
    bare.neovim.exec_lua("vim.lsp.config, vim.lsp.enable = nil, nil require('ridgeline').setup(setup)")
    bare.neovim.command("edit")
    bare.until("vim.lsp.get_clients({ name = 'ridgeline', bufnr = 1 })[1] ~= nil")
    bare.neovim.command("Ridgeline cancel")
    bare.said("nothing is being profiled")


ANSWER = "questions = {} vim.fn.confirm = function(words) table.insert(questions, words) return %d end "
IGNORE, ALLOW = 1, 4  # of vim.secure.read()


@pytest.fixture
def only_in_the_project(tmp_path: Path) -> Iterator[Editor]:
    """The daemon is in the .venv of the project, and not on the path."""
    entry = project(tmp_path)
    program = entry.parent / ".venv" / "bin" / "ridgeline"
    program.parent.mkdir(parents=True)
    program.symlink_to(BINARY)
    with Editor(tmp_path, entry, RIDGELINE_NO_SETUP="1", PATH="/usr/bin:/bin") as editor:
        yield editor


SETUPS = {
    "setup": "require('ridgeline').setup({ settings = setup.settings })",
    "plain config": "vim.lsp.enable('ridgeline')",
    "0.10": "vim.lsp.config, vim.lsp.enable = nil, nil require('ridgeline').setup({}) vim.cmd.edit()",
}


@pytest.mark.parametrize("way", SETUPS)
def test_the_daemon_of_a_trusted_project_is_found(only_in_the_project: Editor, way: str):
    editor = only_in_the_project
    editor.neovim.exec_lua(ANSWER % ALLOW + SETUPS[way])
    editor.until("vim.lsp.get_clients({ name = 'ridgeline', bufnr = 1 })[1] ~= nil")
    assert editor.lua("#questions") == 1
    assert f"{editor.entry.parent / '.venv'} is not trusted" in editor.lua("questions[1]")
    editor.neovim.command("Ridgeline cancel")
    editor.said("nothing is being profiled")
    editor.neovim.command("checkhealth ridgeline")
    assert f"{editor.entry.parent / '.venv' / 'bin' / 'ridgeline'}, version" in editor.text()
    assert editor.lua("#questions") == 1


def test_the_daemon_of_a_project_that_is_not_trusted_is_not_run(only_in_the_project: Editor):
    editor = only_in_the_project
    editor.neovim.exec_lua(ANSWER % IGNORE + SETUPS["setup"])
    for _ in range(2):
        editor.forget()
        editor.neovim.command("Ridgeline profile")
        editor.said("cannot run ridgeline")
    assert editor.lua("#questions") == 1
    editor.neovim.command("checkhealth ridgeline")
    assert "install it into the .venv" in editor.text()
    assert editor.lua("#vim.lsp.get_clients({ name = 'ridgeline' })") == 0


def test_checkhealth_says_what_would_run(profiled: Editor):
    profiled.neovim.command("checkhealth ridgeline")
    health = profiled.text()
    assert f"{profiled.entry} would run with" in health
    assert "You have consented to running it" in health
    assert "ERROR" not in health
    profiled.neovim.command("bwipeout!")


def test_the_command_completes_and_names_its_mistakes(profiled: Editor):
    profiled.forget()
    names = ["bars", "breakdown", "cancel", "code", "costliest", "init", "log", "profile", "run", "toggle", "what-if"]
    assert profiled.lua("vim.fn.getcompletion('Ridgeline ', 'cmdline')") == names
    assert profiled.lua("vim.fn.getcompletion('Ridgeline b', 'cmdline')") == names[:2]
    assert profiled.lua("vim.fn.getcompletion('Ridgeline bars ', 'cmdline')") == []
    words = ["lines", "memory", "modules", "operations", "time"]
    assert profiled.lua("vim.fn.getcompletion('Ridgeline costliest ', 'cmdline')") == words
    assert profiled.lua("vim.fn.getcompletion('Ridgeline costliest m', 'cmdline')") == ["memory", "modules"]
    assert profiled.lua("vim.fn.getcompletion('Ridgeline costliest lines ', 'cmdline')") == ["memory", "time"]
    assert profiled.lua("vim.fn.getcompletion('Ridgeline costliest lines time ', 'cmdline')") == []
    profiled.neovim.command("Ridgeline nonsense")
    profiled.said("there is no :Ridgeline nonsense. See :help :Ridgeline")
    profiled.neovim.command("Ridgeline bars wide")
    profiled.said("there is no :Ridgeline bars wide. See :help :Ridgeline")
    for wrong in ("layers", "lines modules", "memory memory"):
        profiled.forget()
        profiled.neovim.command(f"Ridgeline costliest {wrong}")
        profiled.said(":Ridgeline costliest takes lines|operations|modules and time|memory")


# ---- words


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("figure(0)", "0.00"),
        ("figure(9.994)", "9.99"),
        ("figure(9.996)", "10.0"),
        ("figure(99.96)", "100"),
        ("figure(12345)", "12300"),
        ("duration(0)", "0 ms"),
        ("duration(0.00001)", "<0.1 µs"),
        ("duration(0.0005)", "0.5 µs"),
        ("duration(0.9996)", "1.00 ms"),
        ("duration(60000)", "60.0 s"),
        ("duration(nil)", "–"),
        ("bytes(1023)", "1023 B"),
        ("bytes(1024)", "1.00 KiB"),
        ("bytes(1975684956)", "1.84 GiB"),
        ("share(0.0004)", "<0.1 %"),
        ("share(0.0994)", "9.9 %"),
        ("share(0.36)", "36 %"),
        ("fit('ab', -4)", "  ab"),
        ("fit('abcdef', 4)", "abc…"),
        ("fit('日本語テスト', 6)", "日本… "),
        ("cut('日本語テスト', 6)", "日本…"),
        ("cut('ab', 2)", "ab"),
        ("printable('a\\27[31mb\\nc')", "a [31mb c"),
    ],
)
def test_figures_are_written_as_in_reports(profiled: Editor, call: str, words: str):
    assert profiled.lua(f"require('ridgeline.text').{call}") == words


def test_the_help_is_found(profiled: Editor):
    profiled.neovim.command(f"helptags {HERE.parents[2] / 'editors' / 'neovim' / 'doc'} | help ridgeline-bars")
    assert "ridgeline.txt" in profiled.lua("vim.api.nvim_buf_get_name(0)")
    profiled.neovim.command("bwipeout!")
