"""A real Neovim with the plugin, the daemon and a profiled perceptron; without a screen, or in a terminal of its own.

`Editor` has no screen and is driven by msgpack-rpc: for what Neovim knows. `Terminal` is a Neovim in tmux: for what the
user sees and types. Both wait for conditions, never for a time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pynvim
import pytest

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
PYTHON = os.environ.get("RIDGELINE_FORKED_PYTHON", sys.executable)  # tests/forkserver
NEOVIM = Path(sys.executable).with_name("nvim")
sys.path.append(str(ROOT / "tests" / "remote"))  # another machine, for who asks for one
PATIENCE = 60  # seconds until a condition is given up


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes long, and has a quicker test of the same kind beside it")


def wait_for(condition: Callable[[], Any], explain: Callable[[], object]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"in vain, and this is how it is now:\n{explain()}")
        time.sleep(0.05)
    return result


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Nothing of the user's own configuration, and nothing left behind in it."""
    homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    own = {
        "RIDGELINE_BINARY": str(BINARY),
        "RIDGELINE_PYTHON": PYTHON,
        "RIDGELINE_PLUGIN": str(ROOT / "editors" / "neovim"),
        "RIDGELINE_CACHE": os.environ.get("RIDGELINE_CACHE", str(ROOT / "build" / "cache")),
        "TERM": "tmux-256color",
        "OMP_WAIT_POLICY": "passive",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TMUX", "NVIM", "VIM"))}
    return kept | homes | own | more


def project(folder: Path) -> Path:
    """A copy of the perceptron, which nobody has agreed to run."""
    shutil.copytree(ROOT / "examples" / "mlp", folder / "project", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "project" / "entry.py"


def line_of(file: Path, words: str) -> int:
    return next(i for i, line in enumerate(file.read_text().splitlines(), 1) if words in line)


def daemon_of(neovim: int) -> int:
    """The daemon that a Neovim started; both by their process ids."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == neovim and "serve" in (folder / "cmdline").read_text():
                    return int(folder.name)
            except OSError:
                continue
    raise AssertionError("there is no daemon")


def attached(address: Path) -> Any:
    """A Neovim that listens; none yet while its socket is only a file."""
    try:
        return pynvim.attach("socket", path=str(address))
    except (FileNotFoundError, ConnectionRefusedError):
        return None


class Remote:
    """What can be asked of a Neovim that listens."""

    def __init__(self, address: Path) -> None:
        self.neovim = wait_for(lambda: attached(address), lambda: f"nobody listens at {address}")

    def lua(self, code: str, *arguments: Any) -> Any:
        """The value of an expression."""
        return self.neovim.exec_lua(f"return {code}", *arguments)

    def until(self, code: str, *arguments: Any) -> Any:
        """Waits for an expression to be true, and returns it."""
        return wait_for(lambda: self.lua(code, *arguments), self.state)

    def state(self) -> str:
        summary = self.lua("vim.inspect({ messages, asked, require'ridgeline.session'.entry(1) })")
        return f"{summary}\n{self.text()}\n{self.lua('vim.lsp.log.get_filename()')}"

    def ask(self, method: str, **params: Any) -> Any:
        """What the server says itself."""
        return self.neovim.exec_lua(
            "local m, p = ... local c = vim.lsp.get_clients({ name = 'ridgeline' })[1]"
            " local a = c:request_sync(m, p, 60000, 1) return a.result",
            method,
            params,
        )

    def text(self) -> str:
        return "\n".join(self.neovim.current.buffer[:])

    def batch_size(self) -> int:
        code = "\n".join(self.neovim.buffers[1][:])
        found = re.search(r"batch_size: int = (\d+)", code)
        assert found, code
        return int(found[1])


class Editor(Remote):
    def __init__(self, folder: Path, entry: Path, **more: str) -> None:
        address = folder / "socket"
        command = [NEOVIM, "--headless", "-u", HERE / "init.lua", "-i", "NONE", "--listen", address, entry]
        self.process = subprocess.Popen(
            command,
            env=environment(folder, **more),
            cwd=entry.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(folder / "errors").open("wb"),
        )
        self.entry = entry
        super().__init__(address)

    def profile(self) -> None:
        self.neovim.command("Ridgeline profile")
        self.said("profiled: ")
        self.until("require('ridgeline.session').summary(1)")

    def said(self, words: str) -> str:
        """Waits for a message that has these words."""
        return self.until("said(...)", words)

    def forget(self) -> None:
        self.neovim.exec_lua("messages, asked = {}, {}")

    def __enter__(self) -> Editor:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.neovim.command("qall!", async_=True)
            self.process.wait(30)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


class Terminal:
    def __init__(self, folder: Path, entry: Path, columns: int = 120, lines: int = 40, **more: str) -> None:
        self.server, self.entry = folder / "tmux", entry
        self.tmux("-f", "/dev/null", "start-server", ";", "set", "-g", "default-terminal", "tmux-256color", ";",
                  "set", "-s", "escape-time", "0", ";", "new-session", "-d",
                  "-x", str(columns), "-y", str(lines), "-c", str(entry.parent),
                  str(NEOVIM), "-u", str(HERE / "init.lua"), "-i", "NONE", "--listen", str(folder / "socket"),
                  entry.name,
                  env=environment(folder, **more))  # fmt: skip
        self.remote = Remote(folder / "socket")  # for what the tests compare the screen with

    def tmux(self, *arguments: str, **more: Any) -> str:
        command = ["tmux", "-S", str(self.server), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def command(self, words: str) -> None:
        self.keys(f":{words}", "Enter")

    def resize(self, columns: int, lines: int) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))
        self.remote.until("vim.o.columns == ... and vim.o.lines == select(2, ...)", columns, lines)

    def screen(self, colours: bool = False) -> str:
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def until(self, pattern: str) -> re.Match[str]:
        """Waits for the screen to match; a line's beginning and end are ^ and $."""
        return wait_for(lambda: re.search(pattern, self.screen(), re.MULTILINE), self.screen)

    def until_not(self, pattern: str) -> None:
        wait_for(lambda: not re.search(pattern, self.screen(), re.MULTILINE), self.screen)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.tmux("kill-server")


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    """A Neovim in which nothing has been profiled."""
    with Editor(tmp_path, project(tmp_path)) as started:
        yield started


DIGITS = "vim.api.nvim_buf_get_lines(1, 0, -1, false)[40]:match('= (%d+)')"  # of the batch size in the code
BARS = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('ridgeline://bars'), 0, -1, false), '\\n')"


@pytest.fixture(scope="session")
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


def open_bars(editor: Editor) -> None:
    editor.neovim.command("Ridgeline bars")
    editor.until("vim.bo.filetype == 'ridgeline' and vim.api.nvim_get_current_line():find('throughput') ~= nil")
