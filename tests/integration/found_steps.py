"""What the runner finds of a script's steps, without the agent and the daemon: a fake agent records nothing."""

from __future__ import annotations

import functools
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))

import torch
from ridgeline_runner.script import end as script_end
from ridgeline_runner.script.run import _Script

BYTES = 4096  # alive in each step


class _Agent:
    """Answers every call; of those whose answers are read, with something of the right type. A recording that begins or
    ends forgets the memory of the steps before."""

    def __init__(self) -> None:
        self._bytes = 0

    def set_stage(self, _: int) -> None:
        self._bytes = BYTES  # each optimizer that steps

    def begin(self) -> str:
        self._bytes = 0
        return ""

    def end(self) -> None:
        self._bytes = 0

    def alive_bytes(self, _: list[int]) -> list[tuple[int, int]]:
        return [(0, self._bytes)]

    def __getattr__(self, name: str) -> Any:
        answers: dict[str, Any] = {
            "measure_op_cost": (0.0, 0.0, 0),
            "attach_memory": True,
            "instances": [],
            "finish": b"",
        }
        return lambda *_: answers.get(name, 0)

    def watch_module_calls(self, module_class: type, before: Callable[..., None], after: Callable[..., None]) -> None:
        call = torch.nn.Module._wrapped_call_impl

        def called(module: Any, *arguments: Any, **keywords: Any) -> Any:
            before(module, arguments, keywords)
            output = None
            try:
                output = call(module, *arguments, **keywords)
            finally:
                after(module, arguments, keywords, output)
            return output

        module_class.__call__ = called

    def unwatch_module_calls(self) -> None:
        torch.nn.Module.__call__ = torch.nn.Module._wrapped_call_impl


class _Channel:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    def send_bytes(self, _: bytes) -> None: ...

    def close(self) -> None: ...


class _Reporter:
    def __init__(self) -> None:
        self.channel = _Channel()
        self.warnings: list[str] = []


def messages_of(script: Path, *arguments: str, **options: Any) -> list[dict[str, Any]]:
    """Runs the script until its steps are timed, and returns what it would have sent. It runs in a fork of a process
    that has imported torch and nothing else: in this one, other tests may have made optimizers or compiled."""
    process = _clean_process()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps([str(script), arguments, options]) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@functools.cache
def _clean_process() -> subprocess.Popen[str]:
    """Ends with this process, whose end its standard input is."""
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _serve() -> None:
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what scripts print
    for line in sys.stdin:
        script, arguments, options = json.loads(line)
        results.write(_forked(Path(script), tuple(arguments), options) + "\n")
        results.flush()


def _forked(script: Path, arguments: tuple[str, ...], options: dict[str, Any]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as end:
            try:
                json.dump(_run(script, arguments, options), end, default=str)
            finally:
                end.flush()
                os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as end:
        text = end.read()
    os.waitpid(child, 0)
    return text


def _run(script: Path, arguments: tuple[str, ...], options: dict[str, Any]) -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    sys.argv = [str(script), *arguments]
    reporter: Any = _Reporter()
    chosen = {
        "projectRoot": str(script.parent),
        "steps": 3,
        "stop": True,
        "timeBudgetSeconds": 0.2,
        "code": [],
        "stepBoundary": {"kind": "", "file": "", "line": 0},
        "loaderSizes": [],
        "memoryLimitBytes": 0,
        "agreeSteps": False,
        "experiment": None,
        "batchSize": 0,
        **options,
    }
    script_end.catching_line = lambda _: ""  # pytest, which would catch it, is not of the script
    followed = _Script(_Agent(), reporter, chosen, "", {"environmentRoots": []})
    followed.begin()
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit:
        pass
    followed._finish()
    return reporter.channel.messages


def found(script: Path, *arguments: str, **options: Any) -> dict[str, Any]:
    """The last message: the result, or why there is none."""
    return messages_of(script, *arguments, **options)[-1]


if __name__ == "__main__":
    _serve()
