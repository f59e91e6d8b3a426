"""`:Ridgeline code`: signs and figures in the files of packages, inside and outside of the project."""

from __future__ import annotations

import shutil
from pathlib import Path

from conftest import ROOT, Editor, line_of

CODE = "vim.deep_equal((require('ridgeline.session').summary(vim.api.nvim_get_current_buf()) or {}).code, ...)"
SIGNS = (
    "vim.list_contains(vim.tbl_map(function(mark) return mark[2] end, vim.api.nvim_buf_get_extmarks("
    "0, vim.api.nvim_get_namespaces()['ridgeline.signs'], 0, -1, {})), ...)"
)


def test_a_package_that_is_named_has_signs_in_its_files(tmp_path: Path):
    shutil.copytree(ROOT / "tests" / "data" / "entries" / "library", tmp_path / "library")
    (tmp_path / "library" / "project" / "pyproject.toml").touch()
    entry = tmp_path / "library" / "project" / "entry.py"
    net = entry.with_name("env") / "site-packages" / "nets" / "net.py"
    editable = tmp_path / "library" / "editable" / "losses.py"
    with Editor(tmp_path, entry) as editor:
        editor.profile()
        assert "nets" in editor.lua("require('ridgeline.command').complete('n', 'Ridgeline code n')")
        editor.neovim.command("Ridgeline code nets,losses")
        editor.until(CODE, ["nets", "losses"])
        editor.neovim.command(f"edit {net}")
        editor.until(SIGNS, line_of(net, "# up") - 1)
        editor.neovim.command(f"edit {editable}")  # it costs too little for a sign
        editor.until(CODE, ["nets", "losses"])
        assert editor.lua("#vim.lsp.get_clients({ name = 'ridgeline' })") == 1
        assert len(editor.lua("asked")) == 1  # the permission to run the entry, once
        # Without a name, only the user's own lines have figures again.
        editor.neovim.command(f"edit {entry}")
        editor.neovim.command("Ridgeline code")
        editor.until(CODE, [])


def test_an_invalid_package_name_is_refused(tmp_path: Path):
    shutil.copytree(ROOT / "tests" / "data" / "entries" / "library", tmp_path / "library")
    entry = tmp_path / "library" / "project" / "entry.py"
    with Editor(tmp_path, entry) as editor:
        editor.until("#vim.lsp.get_clients({ name = 'ridgeline' }) == 1")
        editor.neovim.command("Ridgeline code ../nets")
        editor.said("must be a list of packages")
        assert editor.lua("asked") == []
