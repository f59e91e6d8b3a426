"""What the user sees and types: one Neovim in a terminal, from the first question to an edited batch size.

T1 to T5 are the tasks of Skyline's user study (UIST 2020): answered from the screen alone, and compared with what the
server says.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Terminal, daemon_of, line_of, project, wait_for

BAR = "[█▏▎▍▌▋▊▉]*░*"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    folder = tmp_path_factory.mktemp("terminal")
    with Terminal(folder, project(folder)) as terminal:
        yield terminal


@pytest.fixture(scope="module")
def question(fresh: Terminal) -> str:
    """The screen when the first profile has been asked for."""
    fresh.until("nn.Module")
    fresh.command("Ridgeline profile")
    fresh.until("Type number")
    return fresh.screen()


@pytest.fixture(scope="module")
def profiled(fresh: Terminal, question: str) -> Terminal:
    fresh.keys("1", "Enter")
    fresh.until("profiled: .* samples/s")
    return fresh


@pytest.fixture
def terminal(profiled: Terminal) -> Iterator[Terminal]:
    """With figures; back at the first line of the code when the test ends."""
    yield profiled
    profiled.keys("Escape", ":1wincmd w | only!", "Enter", "gg")
    profiled.until(r'^ *"""A four-layer')


def test_asks_before_it_runs_code(question: str):
    assert "Profiling runs the code of" in question
    assert "1: Profile" in question and "2: Not now" in question


def test_signs_and_figures_stand_beside_lines(terminal: Terminal):
    terminal.until(r"^ [▁▂▃▄▅▆▇█] +self\.fc1 = nn\.Linear\(28 \* 28, 512\) 3\.07 MiB")
    terminal.until(r"^.{10}hidden = self\.relu\(self\.fc1\(hidden\)\) [\d.]+ % of the step, [\d.]+ [µm]s · 128 KiB$")
    terminal.until(r"[\d.]+ samples/s · 9\.46 MiB$")  # the status line


def test_lens_offers_to_profile(terminal: Terminal):
    terminal.keys("/def input_provider", "Enter", "zz")
    terminal.until(r"def input_provider.* ▷ Profile \| (≈\s)?[\d.]+ samples/s")


def test_hover_is_the_breakdown_of_a_line(terminal: Terminal):
    terminal.keys("/self.fc1(hidden)", "Enter", "K")
    terminal.until("1 call in one iteration, batch 64")
    terminal.until(r"\| self +\| +[\d.]+ [µm]s \| +[\d.]+ % \|")
    for name in (r"fc1 \(Linear\)", r"relu \(ReLU\)"):  # the marks of code are hidden by now
        terminal.until(rf"\| {name} +\|")
    rows = [row[row.index("|") :].rstrip() for row in terminal.screen().splitlines() if re.search(r"\|.*\|$", row)]
    bars = [[i for i, letter in enumerate(row) if letter == "|"] for row in rows]
    titles = [i for i, row in enumerate(rows) if i + 1 < len(rows) and "---:|" in rows[i + 1]]
    assert len(titles) == 3  # time, memory, calls
    for begin, end in zip(titles, [*titles[1:], len(rows)], strict=True):
        assert bars[begin:end] == [bars[begin]] * (end - begin), "\n".join(rows)


def children(terminal: Terminal, node: str) -> list[dict[str, Any]]:
    summary = terminal.remote.ask("ridgeline/summary", textDocument={"uri": terminal.entry.as_uri()})
    return terminal.remote.ask("ridgeline/breakdown", profileId=summary["profileId"], node=node)["children"]


def costliest(terminal: Terminal, by: str) -> list[str]:
    """Names from the top: in each module that which costs most."""
    names, node = [], ""
    while found := children(terminal, node):
        most = max(found, key=lambda child: child[by] or 0)
        names.append(most["name"])
        node = most["node"]
    return names


def walk(terminal: Terminal) -> list[str]:
    """Enters the first row again and again; the names are what the screen says."""
    names: list[str] = []
    while True:
        rows = terminal.screen().splitlines()
        head = next(i for i, row in enumerate(rows) if "MODULE OR OPERATION" in row)
        first = re.match(r"(▸| ) (\S+)", rows[head + 1])
        assert first, rows[head + 1]
        if first[2] == "nothing":
            return names
        names.append(first[2])
        if first[1] == " ":
            return names
        terminal.keys("Enter")
        terminal.until(" › ".join(["^iteration", *map(re.escape, names)]) + "$")


def test_t1_what_takes_most_time(terminal: Terminal):
    terminal.command("Ridgeline breakdown")
    terminal.until("MODULE OR OPERATION, by time")
    assert walk(terminal) == costliest(terminal, "timeMs")


def test_t2_what_takes_most_memory(terminal: Terminal):
    terminal.command("Ridgeline breakdown")
    terminal.until("MODULE OR OPERATION, by time")
    terminal.keys("s")
    terminal.until("MODULE OR OPERATION, by memory")
    assert walk(terminal) == costliest(terminal, "peakBytes")


def figures(terminal: Terminal) -> dict[str, Any]:
    return terminal.remote.ask("ridgeline/summary", textDocument={"uri": terminal.entry.as_uri()})


def test_t3_weights_or_activations(terminal: Terminal):
    terminal.command("Ridgeline bars")
    terminal.until("at the peak")
    size = {"B": 1, "KiB": 1024, "MiB": 1024**2}
    seen = {
        name: float(terminal.until(rf"\b{name} ([\d.]+) (\w+)")[1]) * size[terminal.until(rf"\b{name} [\d.]+ (\w+)")[1]]
        for name in ("weights", "activations")
    }
    truth = figures(terminal)["byCategory"]
    assert (seen["weights"] > seen["activations"]) == (truth["weights"] > truth["activations"])
    assert seen["weights"] == pytest.approx(truth["weights"], rel=0.01)


def test_t4_batch_size_at_which_they_are_equal(terminal: Terminal):
    terminal.command("Ridgeline bars")
    seen = terminal.until(r"weights and activations take equal memory at batch size (\d+)")
    assert int(seen[1]) == figures(terminal)["answers"]["activationsEqualWeights"]["batchSize"]


def test_t5_from_which_batch_size_throughput_hardly_grows(terminal: Terminal):
    terminal.command("Ridgeline bars")
    seen = terminal.until(r"95 % of the maximum throughput from batch size (\d+)|no batch size is known to give")
    enough = figures(terminal)["answers"].get("enoughThroughput")
    assert seen[1] == (str(enough["batchSize"]) if enough else None)


def test_breakdown_is_walked_with_the_keyboard(terminal: Terminal):
    terminal.command("Ridgeline breakdown")
    terminal.until(rf"^▸ iteration +[\d.]+ ms +100 % +{BAR} +9\.46 MiB +100 % +{BAR}")
    terminal.until(rf"^▸ MLP +[\d.]+ [µm]s +[\d.]+ % +{BAR} +6\.22 MiB +66 % +{BAR} +entry\.py:53$")
    terminal.keys("/^▸ MLP", "Enter", "Enter")
    terminal.until("^iteration › MLP$")
    terminal.keys("/fc3", "Enter", "gd")
    place = line_of(terminal.entry, "self.fc3(hidden)")
    terminal.remote.until("vim.api.nvim_win_get_cursor(0)[1] == ...", place)
    terminal.keys("C-w", "j", "-")
    terminal.until("^iteration$")
    terminal.keys("q")
    terminal.until_not("MODULE OR OPERATION")


def test_the_code_follows_into_a_module_and_back(terminal: Terminal):
    def place() -> Any:
        return terminal.remote.lua("vim.api.nvim_win_call(vim.fn.win_getid(1), vim.fn.winsaveview)")

    terminal.keys("/def device", "Enter", "zt", "2j", "w")
    terminal.command("Ridgeline breakdown")
    terminal.until("^▸ MLP ")
    before = place()
    terminal.keys("/^▸ MLP", "Enter", "Enter")
    terminal.until("^iteration › MLP$")
    terminal.until(r"\A +def forward\(self, images")
    inside = place()
    terminal.keys("/^▸ fc3", "Enter", "Enter")
    terminal.until("^iteration › MLP › fc3$")
    wait_for(lambda: place()["lnum"] == line_of(terminal.entry, "self.fc3(hidden)"), terminal.screen)
    terminal.keys("-")
    wait_for(lambda: place() == inside, terminal.screen)
    terminal.keys("-")
    wait_for(lambda: place() == before, terminal.screen)
    terminal.keys("q")


def test_bars_move_and_the_code_follows(terminal: Terminal):
    terminal.command("Ridgeline bars")
    terminal.until(rf"▸ throughput +(?:≈ )?[\d.]+ samples/s +{BAR} +([\d.]+ %|–) of the maximum ([\d.]+|–)")
    terminal.until(rf"  peak memory +9\.46 MiB +{BAR} +<0\.1 % of [\d.]+ [GT]iB")
    terminal.until(r"batch size +64 +as profiled")
    terminal.keys("l", "l")
    terminal.until(r"batch size +66 +predicted")
    terminal.until("stale: from before entry.py was changed")
    terminal.keys("j", "L")
    terminal.until("▸ peak memory")
    wider = int(terminal.until(r"batch size +(?!66\b)(\d+) +(?:predicted|measured)")[1])
    assert wider > 66
    wait_for(lambda: terminal.remote.batch_size() == wider, terminal.screen)
    terminal.keys("u")
    terminal.until(r"batch size +64 +as profiled")
    assert terminal.remote.batch_size() == 64
    terminal.until_not("stale")


@pytest.mark.parametrize("columns", [80, 50])
def test_no_message_has_to_be_confirmed(tmp_path: Path, columns: int):
    """Each message is awaited; then the editor must take a command."""
    with Terminal(tmp_path, project(tmp_path), columns, 24) as terminal:

        def shows(message: str) -> None:
            terminal.until(f"^(ridgeline: )?{message}")
            assert terminal.remote.neovim.api.get_mode() == {"mode": "n", "blocking": False}

        terminal.until("nn.Module")
        terminal.command("Ridgeline breakdown")
        shows("there is no profile here")
        terminal.command("Ridgeline " + "nonsense " * 20)
        shows("there is no :Ridgeline nonsense")
        terminal.command("Ridgeline profile")
        terminal.until("Type number")
        terminal.keys("1", "Enter")
        shows(r"profiled: (≈ )?[\d.]+ s")  # the rest may be cut off
        terminal.command("Ridgeline profile")
        terminal.remote.until("require('ridgeline.session').entry(1).profiling")
        terminal.command("Ridgeline cancel")
        terminal.until("^ridgeline: cancelled")
        terminal.remote.until("not require('ridgeline.session').entry(1).profiling")
        terminal.command("Ridgeline cancel")
        shows("nothing is being profiled here")
        line = line_of(terminal.entry, "return self.fc4(hidden)") - 1
        terminal.remote.neovim.buffers[1][line] = "        raise RuntimeError('long ' * 100 + 'line\\n' * 100)"
        terminal.command("write")
        terminal.until(r"^RuntimeError: long l.*… \(:Ridgeline log\)$")
        assert terminal.remote.neovim.api.get_mode() == {"mode": "n", "blocking": False}
        terminal.command("Ridgeline log")
        terminal.until("RuntimeError: long long long long long")
        terminal.keys("q")
        os.kill(daemon_of(terminal.remote.lua("vim.fn.getpid()")), signal.SIGSEGV)
        shows("the server exited ")
