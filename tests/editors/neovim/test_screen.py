"""What the user sees and types: one Neovim in a terminal, from the first question to an edited batch size.

T1 to T5 are the tasks of Skyline's user study (UIST 2020): answered from the screen alone, with one command and at most
two keys, and compared with what the server says.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
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
    profiled.resize(120, 40)
    profiled.keys("Escape", ":1wincmd w | only!", "Enter", "gg")
    profiled.until(r'^ *"""A four-layer')


def test_asks_before_it_runs_code(question: str):
    assert "Profiling runs the code of" in question
    assert "1: Profile" in question and "2: Not now" in question


def test_signs_and_figures_stand_beside_lines(terminal: Terminal):
    terminal.until(r"^ [▁▂▃▄▅▆▇█] +self\.fc1 = nn\.Linear\(28 \* 28, 512\) 3\.07 MiB")
    terminal.until(r"^.{10}hidden = self\.relu\(self\.fc1\(hidden\)\) [\d.]+ % · (≈\s)?[\d.]+ [µm]s · 128 KiB$")
    terminal.until(r"[\d.]+ samples/s · 9\.46 MiB$")  # the status line


def test_lens_offers_to_profile(terminal: Terminal):
    terminal.keys("/def input_provider", "Enter", "zz")
    # Neovim sorts the lenses of a line by their column, and those of one column in no particular order.
    terminal.until(r"def input_provider.* ▷ Profile \| (≈\s)?[\d.]+ (samples/s|MiB of)")


@pytest.mark.parametrize("layer", ["fc1", "fc2", "fc3"])
def test_hover_is_the_breakdown_of_a_line(terminal: Terminal, layer: str):
    """Three lines call relu: the hover of each names it."""
    terminal.keys(f"/self.{layer}(hidden)", "Enter", "K")
    terminal.until("1 call in one iteration, batch 64")
    terminal.until(r"\| self +\| +[\d.]+ [µm]s \| +[\d.]+ % \|")
    for name in (rf"{layer} \(Linear\)", r"relu \(ReLU\)"):  # the marks of code are hidden by now
        terminal.until(rf"\| {name} +\|")
    rows = [found[0] for row in terminal.screen().splitlines() if (found := re.search(r"\|.*\|", row))]
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


def figures(terminal: Terminal) -> dict[str, Any]:
    return terminal.remote.ask("ridgeline/summary", textDocument={"uri": terminal.entry.as_uri()})


def heavier(terminal: Terminal) -> str:
    return max("Weights", "Activations", key=lambda name: figures(terminal)["byCategory"][name.lower()])


def equal_memory(terminal: Terminal) -> str:
    answer = figures(terminal)["answers"]["activationsEqualWeights"]
    return f"from batch size {answer['batchSize']}"


def enough_throughput(terminal: Terminal) -> str:
    answer = figures(terminal)["answers"].get("enoughThroughput")  # Lua has no null
    return f"from batch size {answer['batchSize']}" if answer else "no batch size is known"


TASKS: dict[str, tuple[str, list[str], str, Callable[[Terminal], str]]] = {
    "T1: what takes most time": (
        "breakdown",
        [],
        r"costliest by time: (.+?) <CR> in",
        lambda terminal: " › ".join(costliest(terminal, "timeMs")),
    ),
    "T2: what takes most memory": (
        "breakdown",
        ["s"],
        r"costliest by memory: (.+?) <CR> in",
        lambda terminal: " › ".join(costliest(terminal, "peakBytes")),
    ),
    "T3: weights or activations": (
        "bars",
        [],
        "(Weights|Activations) take more memory than (?:weights|activations)",
        heavier,
    ),
    "T4: at which batch size they are equal": (
        "bars",
        [],
        r"as much memory as weights (from batch size \d+) on",
        equal_memory,
    ),
    "T5: from which batch size on a larger one brings little": (
        "bars",
        [],
        r"(?:95 % of the maximum throughput )?(from batch size \d+|no batch size is known)",
        enough_throughput,
    ),
}


def unfolded(terminal: Terminal) -> str:
    """The texts of the window that has the focus, in one line: of a float within its border, else of a split."""
    rows = [row[1:-1] for row in re.findall("│.*│", terminal.screen())]
    if not rows:
        screen = terminal.screen()
        rows = screen[screen.index("\niteration") :].splitlines()
    return " ".join(" ".join(rows).split())


@pytest.mark.parametrize("columns", [120, 80, 50])
@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_a_command_and_at_most_two_keys(terminal: Terminal, task: str, columns: int):
    """In 24 lines, where nothing is scrolled."""
    window, keys, answer, truth = TASKS[task]
    assert len(keys) <= 2
    terminal.resize(columns, 24)
    terminal.command(f"Ridgeline {window}")
    terminal.until("costliest by time" if window == "breakdown" else "at the peak")
    terminal.keys(*keys)
    seen = wait_for(lambda: re.search(answer, unfolded(terminal)), terminal.screen)
    assert seen[1] == truth(terminal)


@pytest.mark.parametrize(("order", "by"), [([], "timeMs"), (["s"], "peakBytes")])
def test_a_key_goes_to_what_is_costliest(terminal: Terminal, order: list[str], by: str):
    names = costliest(terminal, by)
    before = terminal.remote.lua("vim.fn.winsaveview()")
    terminal.command("Ridgeline breakdown")
    terminal.until("costliest by time")
    for key in order:
        terminal.keys(key)
        terminal.until("costliest by memory")
    terminal.keys("c")
    terminal.until(" › ".join(["^iteration", *names[:-1]]) + "$")
    leaf = rf"^(▸| ) {names[-1]}\b"
    wait_for(lambda: re.match(leaf, terminal.remote.lua("vim.api.nvim_get_current_line()")), terminal.screen)
    for up in range(1, len(names)):
        terminal.keys("-")
        terminal.until(" › ".join(["^iteration", *names[: -1 - up]]) + "$")
    code = "vim.deep_equal(vim.api.nvim_win_call(vim.fn.win_getid(1), vim.fn.winsaveview), ...)"
    terminal.remote.until(code, before)


def test_no_figure_is_cut_off_in_a_narrow_window(terminal: Terminal):
    """The windows follow the size of the terminal while they are open."""

    def text(call: str, value: object) -> str:
        return terminal.remote.lua(f"require('ridgeline.text').{call}(...)", value)

    terminal.command("Ridgeline breakdown")
    terminal.until("CALLED AT")
    for columns, bars in ((120, 2), (80, 2), (50, 0)):
        terminal.resize(columns, 30)
        for child in children(terminal, ""):
            shown = [text("duration", child["timeMs"]), text("share", child["share"]),
                     text("bytes", child["peakBytes"]), text("share", child["peakShare"])]  # fmt: skip
            bar = f" +{BAR}" if bars else ""
            time, share, memory, peak_share = map(re.escape, shown)
            terminal.until(rf"^(▸| ) {child['name'][:8]}.* {time} +{share}{bar} +{memory} +{peak_share}{bar}")
        assert ("CALLED AT" in terminal.screen()) == (columns == 120)
        assert "q close" in unfolded(terminal)
    terminal.keys("q")
    terminal.until_not("q close")
    terminal.resize(120, 40)
    terminal.command("Ridgeline bars")
    terminal.until("p profile again")
    wide = unfolded(terminal)
    assert re.search("weights 3.05 MiB", wide) and wide.endswith("p profile again")
    for columns in (80, 50):
        terminal.resize(columns, 40)
        wait_for(lambda: unfolded(terminal) == wide, terminal.screen)


def test_breakdown_is_walked_with_the_keyboard(terminal: Terminal):
    terminal.command("Ridgeline breakdown")
    terminal.until(rf"^▸ iteration +(?:≈ )?[\d.]+ ms +100 % +{BAR} +9\.46 MiB +100 % +{BAR}")
    terminal.until(rf"^▸ MLP +(?:≈ )?[\d.]+ [µm]s +[\d.]+ % +{BAR} +6\.22 MiB +66 % +{BAR} +entry\.py:53$")
    terminal.keys("/^▸ MLP", "Enter", "Enter")
    terminal.until("^iteration › MLP$")
    terminal.keys("/fc3", "Enter", "gd")
    place = line_of(terminal.entry, "self.fc3(hidden)")
    terminal.remote.until("vim.api.nvim_win_get_cursor(0)[1] == ...", place)
    terminal.keys("C-w", "j", "-")
    terminal.until("^iteration$")
    terminal.keys("q")
    terminal.until_not("MODULE OR OPERATION")


def test_the_costliest_lines_are_a_quickfix_list(terminal: Terminal):
    terminal.command("Ridgeline costliest")
    terminal.until(r"Ridgeline: costliest lines by time")
    profile = figures(terminal)["profileId"]
    rows = terminal.remote.ask("ridgeline/costliest", profileId=profile)["lines"]
    screen = terminal.screen().splitlines()
    first = next(i for i, row in enumerate(screen) if re.match(r"entry\.py\|\d+\| ", row))
    last = next(i for i, row in enumerate(screen) if "[Quickfix List]" in row)
    shown = screen[first:last]
    assert len(shown) > 5
    columns = {(row.index("|"), row.rindex("|"), re.search(r"[MKG]?i?B  ", row).end()) for row in shown}
    assert len(columns) == 1, "\n".join(shown)
    for row, cost in zip(shown, rows, strict=False):
        assert row.rstrip().endswith(cost["name"])
        place = str(cost["location"]["line"] + 1) if cost.get("location") else ""
        assert row.split("|")[1].strip() == place
    terminal.keys(":cfirst", "Enter")
    terminal.remote.until("vim.api.nvim_win_get_cursor(0)[1] == ...", rows[0]["location"]["line"] + 1)


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
    terminal.keys("j", "L")
    terminal.until("▸ peak memory")
    wider = int(terminal.until(r"batch size +(?!66\b)(\d+) +(?:predicted|measured)")[1])
    assert wider > 66
    wait_for(lambda: terminal.remote.batch_size() == wider, terminal.screen)
    terminal.keys("u")
    terminal.until(r"batch size +64 +as profiled")
    assert terminal.remote.batch_size() == 64
    terminal.until_not("stale")


@pytest.mark.parametrize("columns", [pytest.param(80, marks=pytest.mark.long), 50])
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
        # Warnings of a busy machine may follow it, and push it out of the window.
        log = "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"
        terminal.remote.until(f"{log}:find('RuntimeError: long long long', 1, true)")
        terminal.keys("q")
        os.kill(daemon_of(terminal.remote.lua("vim.fn.getpid()")), signal.SIGSEGV)
        # What the server says when it is back may be in its place on the screen already.
        terminal.remote.until("table.concat(require('ridgeline.session').messages):find('the server exited', 1, true)")
        assert terminal.remote.neovim.api.get_mode() == {"mode": "n", "blocking": False}
