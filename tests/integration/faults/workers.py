"""What the user's code does to the process it runs in, and what others do to that."""

from __future__ import annotations

import contextlib
import os
import signal
import textwrap
import time
from random import Random
from typing import Any

from bad_entries import Bad, entry
from lsp.editor import Editor
from test_bad_input import DAEMON, HANGS, RUNNER

from .world import CODES, Fault, World, adds_to

FAULTS: list[Fault] = []
fault = adds_to(FAULTS)

SIGNALS = ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTERM", "SIGALRM"]
BOMBS = ("fork bomb", "threads")  # take their time
# The rows of the tables that an editor can hold as a text.
ROWS = {
    name: bad
    for name, bad in {**RUNNER, **DAEMON}.items()
    if name not in BOMBS and isinstance(bad.source, str) and len(bad.source) < 1_000_000
}


def settings_of(bad: Bad) -> dict[str, Any]:
    given = dict(zip(bad.options[::2], bad.options[1::2], strict=True))
    settings: dict[str, Any] = {"batchSizes": []} if bad.check else {}
    if "--timeout" in given:
        settings["timeLimit"] = 6
    if "--memory-limit" in given:
        settings["memoryLimit"] = given["--memory-limit"]
    if "--batch-sizes" in given:
        settings["batchSizes"] = [int(size) for size in given["--batch-sizes"].split(",")]
    return settings


def kind_of(answer: dict[str, Any]) -> str:
    """The kind of the failure, else its code; "" where there is none."""
    error = answer.get("error")
    assert error is None or error["code"] in CODES, answer
    return error.get("data", {}).get("kind", str(error["code"])) if error else ""


def profiles_as(editor: Editor, *kinds: str) -> None:
    """Profiles the entry point: what comes of it is one of these."""
    answer = editor.call("ridgeline/profile", editor.open(editor.folder / "entry.py"))
    assert kind_of(answer) in kinds, answer


def shown(editor: Editor) -> None:
    """The failure stands at a line of the file."""
    uri = (editor.folder / "entry.py").as_uri()
    editor.until(lambda: any(each["severity"] == 1 for each in editor.diagnostics.get(uri, [])))


@fault("user's code", "each row of the tables of invalid input", "the documented kind of failure, also as a diagnostic")
def bad_input(world: World, random: Random) -> None:
    bad = ROWS[random.choice(sorted(ROWS))]
    with world.editor(bad.source, bad.files, **settings_of(bad)) as editor:
        profiles_as(editor, bad.kind)
        if bad.kind:
            shown(editor)


@fault("user's code", "ended by a signal at any stage", "`process-died`")
def dies(world: World, random: Random) -> None:
    name = random.choice(SIGNALS)
    default = "" if name == "SIGKILL" else f"signal.signal(signal.{name}, signal.SIG_DFL)\n"
    words = f"import signal\n{default}os.kill(os.getpid(), signal.{name})"
    stage = random.choice(["top", "model", "inputs", "provide", "step"])
    if stage == "step":
        words = f"if calls == {random.randint(1, 6)}:\n{textwrap.indent(words, '    ')}"
    with world.editor(entry(**{stage: words})) as editor:
        profiles_as(editor, "process-died")
        shown(editor)


@fault("user's code", "hangs anywhere", "`timeout` after the limit, with the line, or -32800 when cancelled")
def hangs(world: World, random: Random) -> None:
    source = HANGS[random.choice(sorted(HANGS))]
    if random.random() < 0.5:
        with world.editor(source, timeLimit=random.choice([3, 4])) as editor:
            profiles_as(editor, "timeout")
            shown(editor)
        return
    if random.random() < 0.5:
        source = "import signal\nfor s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)\n" + source
    with world.editor(source) as editor:
        document = editor.open(editor.folder / "entry.py")
        number = editor.wire.begin("ridgeline/profile", document)
        time.sleep(random.random() * 3)
        editor.wire.notify("$/cancelRequest", {"id": number})
        assert editor.answer(number)["error"]["code"] == -32800


def during_a_profile(world: World, random: Random, limit: int, do: Any, allowed: set[str]) -> None:
    """Does something to one of the processes of a profile at any time. Limit: of the profile, in seconds."""
    resident = set(world.workers())
    with world.editor(entry(step="time.sleep(0.05)"), timeLimit=limit) as editor:
        number = editor.wire.begin("ridgeline/profile", editor.open(editor.folder / "entry.py"))
        time.sleep(random.random() * 2)
        processes = [pid for pid in world.workers() if pid not in resident] or sorted(resident)
        for pid in random.sample(processes, min(1, len(processes))):
            with contextlib.suppress(ProcessLookupError):
                do(pid)
        answer = editor.answer(number)
        assert kind_of(answer) in allowed, answer


@fault(
    "worker",
    "killed from outside at any time, also between profiles",
    "`process-died` or `worker-died`, or a report of what was measured; nothing if no profile ran",
)
def killed(world: World, random: Random) -> None:
    during_a_profile(world, random, 100, lambda pid: os.kill(pid, signal.SIGKILL), {"process-died", "worker-died", ""})


@fault(
    "worker",
    "stopped from outside, so that it sends nothing",
    "`process-stopped`, a report, or another worker replaces it; it is ended",
)
def stopped(world: World, random: Random) -> None:
    ends = {"process-stopped", "timeout", "worker-died", "process-died", ""}
    during_a_profile(world, random, 8, lambda pid: os.kill(pid, signal.SIGSTOP), ends)


@fault("worker", "random bytes, or none, on its channel", "`channel-broken`")
def garbage(world: World, random: Random) -> None:
    data = random.randbytes(random.randint(1, 3_000))
    how = random.choice(["os.write(fd, data)", "os.close(fd)", "os.write(fd, b'RL' + data)", "os.dup2(1, fd)"])
    top = f"data = {data!r}\nfor fd in range(3, 100):\n    try: {how}\n    except OSError: pass"
    with world.editor(entry(top=top)) as editor:
        profiles_as(editor, "channel-broken", "process-died")


@fault("worker", "a flood of output", "the profile is made; only the end of the output is kept")
def flood(world: World, random: Random) -> None:
    words = "b'x' * 100_000" if random.random() < 0.5 else "b'line\\n' * 20_000"
    step = f"for fd in (1, 2): os.write(fd, {words})"
    with world.editor(entry(step=step)) as editor:
        profiles_as(editor, "")
