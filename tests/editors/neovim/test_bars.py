"""The batch size: keys move the bars, one edit follows, and an undo brings the first size back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from conftest import BARS, DIGITS, Editor, line_of, open_bars


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
