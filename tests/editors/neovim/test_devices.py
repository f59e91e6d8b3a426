"""`:Ridgeline devices`: the step on other devices, as a file that the server opens."""

from __future__ import annotations

import pytest
from conftest import Editor

TEXT = "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"


def test_devices_are_compared(editor: Editor) -> None:
    editor.profile()
    editor.neovim.command("Ridgeline devices a100=1.10 dataset-size=50000 t4=0.35")
    editor.until(TEXT + ":find('COST OF AN EPOCH', 1, true)")
    table = editor.lua(TEXT)
    assert "  A100 " in table and "  T4 " in table and "  H100 " not in table
    assert "at least" in table  # nobody has measured there


@pytest.mark.long
def test_a_device_that_is_not_known_is_named(editor: Editor) -> None:
    editor.profile()
    editor.neovim.command("Ridgeline devices abacus")
    editor.said("No device is called abacus")
    editor.neovim.command("Ridgeline devices dataset-size=many")
    editor.said("dataset-size is a number of samples")
