"""Every bad input: one clear message with the place, a documented exit code, nothing left, and what can be measured.

Two tables of entry points. What the runner decides is asked of one warm runner, a fork for each row. What the daemon
has to hold, and one row of each kind, goes through the real binary, some at a time.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))

from bad_entries import EXIT_CODES, Bad, content, entry, write
from conftest import PYTHON, ROOT, assert_all_gone, ridgeline
from ridgeline_runner.common.channel import Channel

AT_ONCE = 2  # and other tests in the other process
HERE = "# here"  # marks the line that the message must name


def warned(*words: str) -> Callable[[dict[str, Any]], None]:
    def check(report: dict[str, Any]) -> None:
        assert any(all(word in text for word in words) for text in report["warnings"]), report["warnings"]

    return check


def skipped(**sizes: str) -> Callable[[dict[str, Any]], None]:
    """_4="exception": that batch size failed in this way; no other did."""

    def check(report: dict[str, Any]) -> None:
        assert {f"_{s['batchSize']}": s["kind"] for s in report["skipped"]} == sizes

    return check


def fell_back(report: dict[str, Any]) -> None:
    skipped(_64="out-of-memory", _32="out-of-memory", _24="out-of-memory")(report)
    warned("Batch size 64 does not fit", "memory", "These figures are of batch size 16")(report)
    assert report["entry"]["batchSize"] == 16
    assert [s["batchSize"] for s in report["models"]["time"]["samples"]] == [8, 12, 16]


def timed_at_all(report: dict[str, Any]) -> None:
    warned("The step failed while it was timed: StopIteration (entry.py:")(report)
    assert report["iteration"]["timeMs"] > 0 and report["lines"]


def cut_short(*words: str) -> Callable[[dict[str, Any]], None]:
    """The run ended while it was timed, of the words' cause, and what was measured until then is reported."""

    def check(report: dict[str, Any]) -> None:
        warned("This report is of what was measured before that", " bare iterations.", *words)(report)
        assert report["iteration"]["timeMs"] > 0 and report["lines"]
        assert len(report["models"]["time"]["samples"]) > 1

    return check


def timed_once(then: str) -> str:
    """An entry point that does this in line 25 when every batch size has been timed for a round: only then are inputs
    made again for the user's, and the user's has its turn after the others had theirs."""
    return entry(
        top="made = []",
        inputs="made.append(batch_size)\nreturn (torch.randn(batch_size, 8),)",
        step="if made.count(4) > 1:\n"
        f"    if len(x) == 4 and any(size < 0 and size != -4 for size in made): {then}\n"
        "    made.append(-len(x))",
    )


def two_sizes(report: dict[str, Any]) -> None:
    skipped(_16777216="out-of-memory")(report)
    assert [s["batchSize"] for s in report["models"]["time"]["samples"]] == [4, 8]


# A file that certainly lacks a provider is not run.
MENTION = "model_provider = input_provider = iteration_provider = None\n"

PROVIDERS = {
    "missing provider": Bad("import torch\n", "provider-missing", ("defines no `model_provider`",)),
    "empty file": Bad("", "provider-missing", ("defines no `model_provider`",)),
    "misspelt provider": Bad(
        entry().replace("def input_provider(batch_size=4):", "def inputs_provider(batch_size=4):  # here"),
        "provider-missing",
        ("Did you mean `input_provider` where it says `inputs_provider`?",),
    ),
    "defined twice": Bad(
        entry() + "\n\ndef model_provider():  # here\n    return torch.nn.Linear(8, 8)\n",
        "provider-duplicate",
        ("`model_provider` is defined twice, in lines 4 and", "Remove one."),
    ),
    "two generations": Bad(
        entry() + "\n\ndef skyline_model_provider():  # here\n    return torch.nn.Linear(8, 8)\n",
        "provider-duplicate",
        ("`model_provider` (line 4) and `skyline_model_provider` (line", "Remove one."),
    ),
    "two names of one function": Bad(entry() + "\n\nskyline_model_provider = model_provider\n", ""),
    "no function": Bad(
        entry() + "\n\niteration_provider = 3  # here\n",
        "provider-invalid",
        ("`iteration_provider` must be a function, and is an int.",),
    ),
    "async provider": Bad(
        entry().replace("def model_provider():", "async def model_provider():  # here"),
        "provider-invalid",
        ("`model_provider` is an `async def`. Write it as a plain `def`.",),
    ),
    "no default": Bad(entry(batch_size="batch_size"), "batch-size-missing", ("such as `batch_size=32`",)),
    "no batch size": Bad(entry(batch_size="n=4"), "batch-size-missing", ("such as `batch_size=32`",)),
    **{
        f"default {value}": Bad(
            entry(batch_size=f"batch_size={value}"), "batch-size-invalid", ("a positive integer", f"and is {value}.")
        )
        for value in ("0", "-1", "True", "2.5", "'4'", "None", "100000000000000000000")
    },
    "hostile default": Bad(
        entry(
            top="class Evil:\n    def __repr__(self): raise ValueError('evil')",
            batch_size="batch_size=Evil()",
        ),
        "batch-size-invalid",
        ("its __repr__ raised ValueError",),
    ),
    "number as model": Bad(
        entry(model="return 3"), "wrong-model", ("model_provider must return a torch.nn.Module", "returned an int.")
    ),
    "no model": Bad(entry(model="pass"), "wrong-model", ("returned nothing.",)),
    "no models": Bad(entry(model="return ()"), "wrong-model", ("returned a tuple.",)),
    "bare tensor": Bad(
        entry(inputs="return torch.randn(batch_size, 8)"), "wrong-inputs", ("bare tensor", "`return (x,)`")
    ),
    "array as inputs": Bad(
        entry(inputs="import numpy\nreturn numpy.zeros((1, 8))"), "wrong-inputs", ("returned a numpy.ndarray.",)
    ),
    "dict as inputs": Bad(entry(inputs="return {'x': torch.randn(4, 8)}"), "wrong-inputs", ("returned a dict.",)),
    "no inputs": Bad(entry(inputs="pass"), "wrong-inputs", ("input_provider must return", "returned nothing.")),
    "generator of inputs": Bad(entry(inputs="yield torch.randn(batch_size, 8)"), ""),
    "endless inputs": Bad(entry(inputs="while True: yield 1"), "wrong-inputs", ("more than 255",)),
    "too many inputs": Bad(
        entry(inputs="return 1, 2", arguments="x, *, scale=1"),
        "wrong-inputs",
        ("iteration takes (x, *, scale=1), and input_provider returned 2 values: too many positional arguments",),
    ),
    "too few inputs": Bad(
        entry(arguments="x, y"), "wrong-inputs", ("returned 1 value: missing a required argument: 'y'",)
    ),
    "no step": Bad(entry().replace("return iteration\n", "return None\n"), "wrong-iteration", ("returned nothing.",)),
}

EXCEPTIONS = {
    "in the file": Bad(
        f"import torch\n1 / 0  # here\n{MENTION}", "exception", ("ZeroDivisionError: division by zero",)
    ),
    "in the model": Bad(entry(model="raise ValueError('on purpose')  # here"), "exception", ("on purpose",)),
    "in the inputs": Bad(entry(inputs="raise ValueError('on purpose')  # here"), "exception", ("on purpose",)),
    "in a generator": Bad(entry(inputs="yield 1\nraise TypeError('on purpose')  # here"), "exception", ("on purpose",)),
    "before the step": Bad(entry(provide="raise ValueError('on purpose')  # here"), "exception", ("on purpose",)),
    "in the step": Bad(entry(step="raise ValueError('on purpose')  # here"), "exception", ("on purpose",)),
    "in torch": Bad(entry(step="torch.zeros(2) @ torch.zeros(3)  # here"), "exception", ("RuntimeError: ", "size")),
    "in the second step": Bad(entry(step="if calls == 2: raise KeyError('k')  # here"), "exception", ("KeyError",)),
    "at other batch sizes": Bad(
        entry(step="assert len(x) in (4, 6, 5), 'not this one'"),
        "",
        check=skipped(_2="exception", _8="exception", _3="exception", _1="exception"),
    ),
    "exit at another batch size": Bad(entry(step="if len(x) == 2: sys.exit()"), "", check=skipped(_2="exit")),
    "while it is timed": Bad(
        entry(top="from itertools import islice", provide="batches = iter(range(60))", step="next(batches)"),
        "",
        check=timed_at_all,
    ),
    "chain": Bad(
        entry(step="try:\n    {}['key']\nexcept KeyError as error:\n    raise ValueError('outer') from error  # here"),
        "exception",
        ("ValueError: outer\n  after KeyError: 'key' (entry.py:24)",),
    ),
    "group": Bad(
        entry(step="raise ExceptionGroup('both', [ValueError('one'), TypeError('two')])  # here"),
        "exception",
        ("ExceptionGroup: both (2 sub-exceptions)\n  one of them: ValueError: one\n  one of them: TypeError: two",),
    ),
    "recursion": Bad(entry(step="def f(): f()  # here\nf()"), "exception", ("RecursionError",)),
    "interrupt": Bad(entry(step="raise KeyboardInterrupt  # here"), "exception", ("KeyboardInterrupt",)),
    "inputs of any batch size": Bad(
        entry(inputs="return (torch.randn(4, 8),)"),
        "",
        check=warned("The inputs take the same memory at every batch size", "(entry.py:", "seems to ignore batch_size"),
    ),
    "no backward": Bad(
        entry().replace(".sum().backward()", ".sum()"),
        "",
        check=warned("of a forward pass, most of which runs at entry.py:"),
    ),
    "words that raise": Bad(
        entry(
            top="class Evil(Exception):\n    def __str__(self): raise ValueError\n    __repr__ = __str__",
            step="raise Evil  # here",
        ),
        "exception",
        ("Evil: <its __str__ raised ValueError>",),
    ),
    "words that are no text": Bad(
        entry(top="class Evil(Exception):\n    def __str__(self): return 3", step="raise Evil  # here"),
        "exception",
        ("Evil: <its __str__ raised TypeError>",),
    ),
    "huge words": Bad(entry(step="raise ValueError('x' * 100_000_000)  # here"), "exception", ("ValueError: xxx",)),
    "words that are no Unicode": Bad(
        entry(step="raise ValueError('a\\ud800b\\x1b[31m')  # here"), "exception", ("ValueError: a\\ud800b",)
    ),
    "standard input": Bad(entry(top="input('name? ')  # here"), "exception", ("EOFError", "no standard input")),
    "out of memory": Bad(
        entry(model="return torch.empty(1 << 50)  # here"), "out-of-memory", ("smaller batch", "--memory-limit")
    ),
    "out of memory at the user's batch size": Bad(
        entry(
            batch_size="batch_size=64", inputs="return (torch.randn(batch_size, 8 if batch_size < 20 else 1 << 40),)"
        ),
        "",
        check=fell_back,
    ),
    "out of memory at every batch size": Bad(
        entry(step="torch.empty(1 << 50)  # here"), "out-of-memory", ("smaller batch",)
    ),
}

FILES = {
    "syntax": Bad("import torch\ndef model_provider(:  # here\n", "syntax-error", ("SyntaxError",)),
    "indentation": Bad(entry(top="  x = 1  # here"), "syntax-error", ("IndentationError",)),
    "NUL": Bad(b"import torch\n\0\n", "syntax-error", ("null bytes",)),
    "no UTF-8": Bad(b"import torch\nname = '\xff\xfe'\n", "syntax-error", ("utf-8",)),
    "byte order mark": Bad(b"\xef\xbb\xbf" + entry().encode(), ""),
    "missing module": Bad(
        f"import no_such_module  # here\n{MENTION}", "import-error", ("no_such_module", f"{sys.executable}", "--python")
    ),
    "circular import": Bad(
        f"import one\n{MENTION}",
        "import-error",
        ("circular import",),
        ("two.py:1: error: ",),
        files={"one.py": "from two import b\na = 1\n", "two.py": "from one import a\nb = 1\n"},
    ),
    "import that fails": Bad(
        f"import one\n{MENTION}", "exception", ("NameError",), ("one.py:1: error: ",), files={"one.py": "nothing\n"}
    ),
    "50 MB": Bad(b"# " + b"x" * 50_000_000, "entry-unreadable", ("is 47 MiB long", "at most 16 MiB")),
}

ENDS = {
    "sys.exit": Bad(
        f"import sys\nprint('usage: no')\nsys.exit('usage')  # here\n{MENTION}",
        "exit",
        ("sys.exit('usage')", "usage: no"),
    ),
    "os._exit": Bad(f"import os\nos._exit(0)\n{MENTION}", "process-died", ("ended by itself with exit code 0",)),
    "abort": Bad(f"import os\nos.abort()\n{MENTION}", "process-died", ("signal 6 (Aborted)",)),
    "segmentation fault": Bad(f"import ctypes\nctypes.string_at(0)\n{MENTION}", "process-died", ("signal 11",)),
    "killed as when memory runs out": Bad(
        entry(step="os.kill(os.getpid(), 9)"), "process-died", ("memory", "smaller batch size", "--memory-limit")
    ),
    "hangs": Bad(
        entry(step="while True: time.sleep(1)  # here"),
        "timeout",
        ("after 25 s", "Recording batch size 4", "--timeout"),
        ("in iteration",),
        options=("--timeout", "25"),
    ),
    "killed while it is timed": Bad(timed_once("os.kill(os.getpid(), 9)"), "", check=cut_short("signal 9", "memory")),
    "hangs while it is timed": Bad(
        timed_once("time.sleep(1000)"),
        "",
        options=("--timeout", "25"),
        check=cut_short("after 25 s", "It was at entry.py:25."),
    ),
    "replaces itself": Bad(
        entry(step="os.execv('/bin/sleep', ['sleep', '1000'])"), "process-replaced", ("/sleep", "subprocess")
    ),
    "stops itself": Bad(entry(step="os.kill(os.getpid(), 19)"), "process-stopped", ("SIGSTOP",)),
    "ends its main thread": Bad(
        entry(
            step="import ctypes, threading\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n"
            "ctypes.CDLL(None).pthread_exit(None)"
        ),
        "main-thread-ended",
    ),
    "closes everything and hangs": Bad(
        entry(step="os.closerange(3, 65536)\ntime.sleep(1000)"), "channel-broken", ("os.closerange",)
    ),
    "flood": Bad(
        entry(top="for _ in range(3000): os.write(1, b'x' * 100_000); os.write(2, b'y')\nos._exit(9)"),
        "process-died",
        ("exit code 9",),
    ),
}

# Function that hangs → the entry point; its marked line writes a dot first.
HANGS = {
    "<module>": "import os, time\nwhile True: os.write(1, b'.'); time.sleep(1)  # here\n" + MENTION,
    "model_provider": entry(model="import threading\nos.write(1, b'.'); threading.Event().wait()  # here"),
    "input_provider": entry(top="import queue", inputs="os.write(1, b'.'); queue.Queue().get()  # here"),
    "iteration": entry(step="while True: os.write(1, b'.')  # here"),
    "__str__": entry(
        top="class Evil(Exception):\n    def __str__(self):\n        while True: os.write(1, b'.')  # here",
        step="raise Evil",
    ),
}

# A bomb is bounded, so that the test does no harm should the product fail.
HOSTILE = {
    "one provider of three": Bad(
        "import torch\n# input_provider and iteration_provider come from elsewhere\n\n\ndef model_provider():\n"
        "    return torch.nn.Linear(2, 2)\n\n\nopen('it-ran', 'w').close()\nwhile True:\n    torch.ones(1)\n",
        "provider-missing",
        ("defines no `input_provider` and no `iteration_provider`, so it was not run. Define these two functions",),
    ),
    "fork bomb": Bad(
        entry(
            step="for _ in range(12):\n    os.fork()\n    os.setsid() if os.getpgrp() != os.getpid() else None\n"
            "time.sleep(1000)"
        ),
        "too-many-processes",
        ("more than 512 processes",),
    ),
    "threads": Bad(
        entry(
            top="import threading\nthreading.stack_size(65536)",
            step="for _ in range(10000): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
            "time.sleep(1000)",
        ),
        "too-many-processes",
        ("8192 threads",),
    ),
    "children that flee": Bad(
        entry(
            top="for _ in range(20):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
            "            time.sleep(1000)\n        os._exit(0)"
        ),
        "",
    ),
    "copies that go on": Bad(entry(step="if calls < 4: os.fork()"), ""),
    "closes 0 to 2": Bad(entry(top="os.closerange(0, 3)"), ""),
    "closes everything": Bad(entry(top="os.closerange(0, 65536)"), "channel-broken", ("os.closerange",)),
    "writes on every descriptor": Bad(
        entry(top="for fd in range(3, 100):\n    try: os.write(fd, b'garbage' * 10)\n    except OSError: pass\n"),
        "channel-broken",
        ("os.closerange",),
    ),
    "replaces every descriptor": Bad(
        entry(top="for fd in range(3, 100): os.dup2(1, fd)"), "channel-broken", ("os.closerange",)
    ),
    "goes elsewhere": Bad(entry(top="os.chdir('/')"), "", files={"more.py": ""}),
    "changes signals": Bad(
        entry(top="import signal\nfor s in (2, 3, 15, 17, 20): signal.signal(s, signal.SIG_IGN)"), ""
    ),
    "few descriptors": Bad(entry(top="import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))"), ""),
    "traces": Bad(
        entry(
            top="import atexit, threading\ndef hook(*_): return hook\nsys.settrace(hook); sys.setprofile(hook)\n"
            "threading.settrace(hook)\nthreading.excepthook = 3\natexit.register(time.sleep, 1000)\n"
            "threading.Thread(target=time.sleep, args=(1000,)).start()"
        ),
        "",
    ),
    "replaces the standard library": Bad(
        entry(
            top="import json, socket, gc, traceback\njson.dumps = json.loads = json.JSONEncoder = None\n"
            "time.perf_counter = time.perf_counter_ns = time.time = lambda: 0\nos.getpid = lambda: 1\n"
            "socket.socket.sendall = None\nsys.exit = None"
        ),
        "",
    ),
    "batch sizes twice and too large": Bad(
        entry(inputs="return (torch.randn(batch_size, 256, 8),)"),
        "",
        options=("--batch-sizes", "8,8,4,16777216", "--memory-limit", "2GiB"),
        check=two_sizes,
    ),
}

# One of each kind, and what needs the whole report.
WHOLE_TOO = {
    "misspelt provider",
    "two generations",
    "async provider",
    "no default",
    "default True",
    "no model",
    "bare tensor",
    "no step",
    "chain",
    "words that are no Unicode",
    "at other batch sizes",
    "inputs of any batch size",
    "no backward",
    "while it is timed",
    "out of memory at the user's batch size",
    "out of memory at every batch size",
    "NUL",
    "missing module",
    "circular import",
    "import that fails",
    "50 MB",
}
RUNNER = {**PROVIDERS, **EXCEPTIONS, **FILES}
DAEMON = {**ENDS, **{name: bad for name, bad in RUNNER.items() if name in WHOLE_TOO}, **HOSTILE}
for _name in ("50 MB", *(name for name, bad in RUNNER.items() if bad.check is not None)):
    RUNNER.pop(_name)  # the daemon's alone


def marked_line(bad: Bad) -> int | None:
    lines = bad.source.splitlines() if isinstance(bad.source, str) else []
    return next((i for i, line in enumerate(lines, 1) if line.endswith(HERE)), None)


class Runner:
    """The real runner, warm, as the daemon starts it; each run is a fork of it."""

    def __init__(self, agent: Path) -> None:
        ours, theirs = socket.socketpair()
        self._control = Channel(ours)
        self._process = subprocess.Popen(
            [sys.executable, ROOT / "profiler" / "runner" / "ridgeline_runner", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        assert self._control.receive()["type"] == "ready"
        self._control.send({"type": "loadAgent", "path": str(agent)})
        assert self._control.receive()["type"] == "agentLoaded"
        self._ours = ours

    def start(self, folder: Path, output: int) -> socket.socket:
        """Starts to profile the folder's entry point; the channel of the run."""
        spec = {
            "entry": str(folder / "entry.py"),
            "projectRoot": str(folder),
            "batchSizes": [2],
            "timeBudgetSeconds": 0.01,
            "memoryLimitBytes": 4 << 30,
            "environmentRoots": [sys.prefix, sys.base_prefix],
            "code": [],
        }
        ours, theirs = socket.socketpair()
        message = json.dumps({"type": "run", "id": 1, "spec": spec}).encode()
        header = struct.pack("<2sBBI", b"RL", 1, 1, len(message))
        socket.send_fds(self._ours, [header + message], [theirs.fileno(), output])
        theirs.close()
        return ours

    def last_message(self, folder: Path) -> dict[str, Any]:
        """Profiles the folder's entry point: the failure; else the first batch size that was skipped, or
        the result."""
        last: dict[str, Any] = {}
        skipped: dict[str, Any] = {}
        with open(os.devnull, "wb") as output:
            channel = self.start(folder, output.fileno())
        with channel, channel.makefile("rb") as stream:
            while header := stream.read(8):
                kind, length = header[3], int.from_bytes(header[4:], "little")
                payload = stream.read(length)
                if kind == 1:
                    last = json.loads(payload)
                    skipped = skipped or (last if last["type"] == "skipped" else {})
        self.process()
        return last if last["type"] == "failure" else skipped or last

    def process(self, end: signal.Signals | None = None) -> None:
        """Waits for the end of the process of the run that was started, and may tell it to end."""
        started = self._control.receive()
        if end is not None:
            os.kill(started["pid"], end)
        assert (started["type"], self._control.receive()["type"]) == ("started", "exited")

    def end(self) -> None:
        self._control.close()
        assert self._process.wait(timeout=30) == 0


@pytest.fixture(scope="module")
def runner(agent: Path) -> Iterator[Runner]:
    warm = Runner(agent)
    yield warm
    warm.end()


@pytest.mark.parametrize("name", RUNNER)
def test_the_runner_says_what_is_wrong(name: str, runner: Runner, tmp_path: Path) -> None:
    bad = RUNNER[name]
    folder = tmp_path / "project"
    before = write(bad, folder)
    message = runner.last_message(folder)
    if not bad.kind:
        assert (message["type"], message.get("final"), message.get("warnings")) == ("result", True, []), message
        return
    assert (message["type"], message["kind"]) == ("failure", bad.kind), message
    for expected in bad.words:
        assert expected in message["message"]
    assert len(message["message"]) < 10_000
    own = [frame["line"] for frame in message["frames"] if frame["file"] == str(folder / "entry.py")]
    line = marked_line(bad)
    assert line is None or line in own[-2:]
    assert not any("ridgeline_runner" in frame["file"] for frame in message["frames"])
    assert content(folder) == before


@pytest.mark.parametrize("function", HANGS)
def test_the_runner_says_where_it_hangs(function: str, runner: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    bad = Bad(HANGS[function], "timeout")
    write(bad, folder)
    with open(tmp_path / "output", "w+b") as output, runner.start(folder, output.fileno()):
        while b"." not in (tmp_path / "output").read_bytes():
            time.sleep(0.01)
        runner.process(end=signal.SIGTERM)
    dump = (tmp_path / "output").read_text().rpartition("Stack (most recent call first):\n")[2]
    assert f'  File "{folder}/entry.py", line {marked_line(bad)} in {function}\n' in dump


@dataclass(frozen=True)
class Outcome:
    done: subprocess.CompletedProcess[str]
    folder: Path
    before: dict[str, bytes]
    mark: str


def profile_bad(bad: Bad, folder: Path) -> Outcome:
    before = write(bad, folder)
    mark = f"mark-{uuid.uuid4()}"
    options = ("--python", PYTHON, "--format", "json", "--seconds", "0.1", *bad.options)
    done = ridgeline("profile", folder / "entry.py", *options, MARK=mark)
    return Outcome(done, folder, before, mark)


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, agent: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, concurrent.futures.Future[Outcome]]]:
    """What came of the rows that this session asks for, in the order of the table."""
    del agent  # built first, by one alone
    root = tmp_path_factory.mktemp("bad")
    mine = [item for item in request.session.items if getattr(item, "originalname", "") == "test_bad_input"]
    names = [item.callspec.params["name"] for item in mine]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(profile_bad, DAEMON[name], root / str(i)) for i, name in enumerate(names)}


@pytest.mark.parametrize("name", DAEMON)
def test_bad_input(name: str, outcomes: dict[str, concurrent.futures.Future[Outcome]]) -> None:
    bad = DAEMON[name]
    outcome = outcomes[name].result()
    words = outcome.done.stderr
    if bad.kind:
        assert f"[{bad.kind}]" in words, words[-3000:]
        assert outcome.done.returncode == int(EXIT_CODES[bad.kind])
        assert outcome.done.stdout == ""
    else:
        assert outcome.done.returncode == 0, words[-3000:]
        report = json.loads(outcome.done.stdout)
        if bad.check is not None:
            bad.check(report)
    line = marked_line(bad)
    if line is not None:
        assert f"\nentry.py:{line}: error: " in "\n" + words, words[-3000:]
    assert "ridgeline_runner" not in words and "Traceback" not in words, words[-3000:]
    assert len(words) < 100_000
    # The first line ends with the batch size and the kind; the words go on below it.
    flat = re.sub(r"( \(batch size \d+\))? \[[a-z-]+\]\n", "\n", words)
    for expected in (*bad.words, *bad.told):
        assert expected in flat, words[-3000:]
    assert_all_gone(outcome.mark)
    assert content(outcome.folder) == outcome.before
