"""How the plugin is set up, which daemon it runs, and what it says where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BINARY, HERE, Editor, project


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
    names = [
        "bars",
        "breakdown",
        "cancel",
        "code",
        "costliest",
        "devices",
        "init",
        "job",
        "job-optimize",
        "log",
        "profile",
        "toggle",
        "what-if",
    ]
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
    profiled.neovim.command("Ridgeline profile --epochs 2")
    profiled.said("arguments are for training scripts, and this file is none.")
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
