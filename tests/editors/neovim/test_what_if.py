"""`:Ridgeline what-if`: changes are asked about, tried and written; in a terminal, the list fits."""

from __future__ import annotations

import re

import pytest
from conftest import Editor, Terminal, project

LINES = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('ridgeline://what-if'), 0, -1, false), '\\n')"


def list_of(editor: Editor) -> str:
    return editor.lua(LINES)


def open_list(editor: Editor) -> None:
    editor.neovim.command("Ridgeline what-if")
    editor.until(LINES + ":find('Predicted from the recorded step', 1, true)")
    editor.until(LINES + ":find('fused optimizer', 1, true)")
    editor.until("vim.api.nvim_get_current_line() ~= '' and vim.bo.filetype == 'ridgeline'")


def go_to(editor: Editor, title: str) -> None:
    line = next(i for i, words in enumerate(list_of(editor).splitlines(), 1) if words.strip().startswith(title))
    editor.neovim.current.window.cursor = (line, 0)


def test_a_change_is_asked_about_and_tried(editor: Editor) -> None:
    editor.profile()
    before = editor.entry.read_text()
    editor.neovim.command("Ridgeline what-if")
    # What the recording says of it is there while the changed steps are run.
    both = "(function(shown) return shown:find('asking what', 1, true) and shown:find('fused optimizer', 1, true) end)"
    editor.until(f"{both}({LINES})")
    editor.neovim.command("q")
    open_list(editor)
    shown = list_of(editor)
    predicted = r"(no change|unclear: try it|[\d.]+× (?:faster|as fast)) \([\d.]+–[\d.]+\)"
    # On a busy machine too little may have been timed; then the row says so.
    unknown = r"– (?:.(?!torch\.compile))*?(could not be timed alone|varies too much)"
    assert re.search(f" fused optimizer ({predicted}|{unknown})", " ".join(shown.split())), shown
    assert "Add `fused=True` to the optimizer" in list_of(editor)
    assert "TRIED" not in list_of(editor)
    go_to(editor, "fused optimizer")
    editor.neovim.feedkeys("t")
    editor.until(LINES + ":find('trying fused-optimizer', 1, true)")
    editor.until(LINES + ":find('TRIED SPEED-UP', 1, true)")
    editor.until(LINES + ":find('losses [ad]') ~= nil")  # "are equal" or "differ by up to"
    assert editor.neovim.current.line.strip().startswith("fused optimizer")  # the cursor stays on its change
    assert editor.entry.read_text() == before and editor.neovim.buffers[1][:] == before.splitlines()


def test_the_best_combination_is_searched(editor: Editor) -> None:
    editor.profile()
    open_list(editor)
    editor.neovim.exec_lua("vim.ui.input = function(_, answer) answer(typed) end typed = 'much'")
    editor.neovim.feedkeys("s")
    editor.said("a limit is a number of GiB")
    assert "iB" in list_of(editor)
    editor.neovim.exec_lua("typed = '0.000001'")  # which no change fits in
    editor.neovim.feedkeys("s")
    editor.until(f"not {LINES}:find('iB', 1, true)")


ANSWER_FOR_THE_USER = """
vim.fn.confirm = function(question)
  asked = question
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.bo[buffer].filetype == "diff" then
      shown = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\\n")
    end
  end
  return answer
end
"""


def test_a_change_is_applied_as_one_undo_step_and_profiled(editor: Editor) -> None:
    editor.profile()
    open_list(editor)
    code = editor.neovim.buffers[1]
    before = code[:]
    go_to(editor, "bfloat16 autocast")
    editor.neovim.exec_lua(ANSWER_FOR_THE_USER + "answer = 2")
    editor.neovim.feedkeys("a")
    editor.said("not written")
    assert code[:] == before
    assert editor.neovim.exec_lua("return asked") == "Write bfloat16 autocast as the diff shows?"
    assert "+            loss = loss_function(logits, labels)" in editor.neovim.exec_lua("return shown")
    editor.neovim.exec_lua("answer = 1")
    editor.neovim.feedkeys("a")
    editor.said("written: bfloat16 autocast")
    at = next(i for i, line in enumerate(code[:]) if "torch.autocast" in line)
    assert code[at : at + 4] == [
        '        with torch.autocast("cpu", dtype=torch.bfloat16):',
        "            logits = model(images)",
        "            loss = loss_function(logits, labels)",
        "        loss.backward()",
    ]
    editor.until(LINES + ":find('of the step before the last change', 1, true)")
    editor.neovim.exec_lua("vim.api.nvim_buf_call(1, function() vim.cmd('silent undo') end)")
    assert code[:] == before
    editor.neovim.exec_lua("vim.api.nvim_buf_call(1, function() vim.cmd('silent redo') end)")
    editor.forget()
    editor.neovim.exec_lua("vim.api.nvim_buf_call(1, function() vim.cmd('silent write') end)")
    editor.said("profiled: ")
    editor.until(LINES + ":find('Applied: bfloat16 autocast · .-measured%s+[%dn]')")


@pytest.mark.long
def test_it_is_cancelled(editor: Editor) -> None:
    editor.profile()
    open_list(editor)
    go_to(editor, "fused optimizer")
    editor.neovim.feedkeys("t")
    editor.until(LINES + ":find('trying fused-optimizer', 1, true)")
    editor.neovim.feedkeys("x")
    editor.said("cancelled.")
    assert "trying" not in list_of(editor)
    editor.until("not require('ridgeline.session').progress(1)")
    editor.neovim.command("q")


def test_the_list_fits_into_a_terminal(tmp_path) -> None:
    with Terminal(tmp_path, project(tmp_path), columns=100) as terminal:
        terminal.until("nn.Module")
        terminal.command("Ridgeline what-if")  # without a profile: it is made first
        terminal.until("Type number")
        terminal.keys("1", "Enter")
        terminal.until(r"^  fused optimizer +(no change|unclear: try it|[\d.]+×)")
        terminal.until(r"t try · T try all · a apply · .*q close")
        assert all(len(line) <= 100 for line in terminal.screen().splitlines())
