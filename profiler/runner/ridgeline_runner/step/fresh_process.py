"""Processes that have run nothing, in which a step is timed as in a plain loop.

On the CPU, a step that gets memory from the kernel in every iteration is faster in a process that has run larger
batches: the C library's heap keeps what they freed. The process that records has run them. So a copy of it is made
before anything of the user's runs, and forks a process for everything that is to be timed. Each loads the entry file
anew; those in which page faults are observed share what was loaded before the copy was made.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ridgeline_runner.common.channel import Channel, ChannelClosed
from ridgeline_runner.common.dynamo import Compilations
from ridgeline_runner.common.failure import summary
from ridgeline_runner.machine.page_faults import trim_heap
from ridgeline_runner.machine.processors import with_share
from ridgeline_runner.step.samples import Sampled, round_seconds
from ridgeline_runner.step.training_step import warm_up

_ALLOWANCE = 5.0  # times what a process is expected to take, and this much more, is too long
_ALLOWANCE_SECONDS = 20.0
# Pages that nothing has used for a while come slowly, on a virtual machine from its host: a new process needs some
# iterations to have its own.
_LEAST_WARMUP, _MOST_WARMUP = 4, 8
_MEMORY_SHARE = 0.9  # of the memory, that two processes may need together


Measure = Callable[[dict[str, Any]], dict[str, Any]]


class ProcessFailed(Exception):
    """Why a process measured nothing, as the end of a sentence."""


class FreshProcesses:
    """Owns the copy of this process. To be made before user code runs, or, where that is to be loaded once for all
    processes, before it computes anything: threads that it started are not in the copy. The copy is made while this
    process goes on, until settle()."""

    def __init__(self, measure: Measure, channel: Channel) -> None:
        """`measure` answers a request, in a new process. `channel` is the daemon's: the copy must not keep it open."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                # The user's code may wait for all children of its process: the copy must not be one of them.
                if os.fork() == 0:
                    channel.close()
                    ours.close()
                    _serve(theirs, measure)
            os._exit(0)
        theirs.close()
        self._child: int | None = child
        self._channel: Channel | None = Channel(ours)
        self.processor_seconds = 0.0  # that the processes used

    def settle(self) -> None:
        """Waits until the copy is made. To be called before user code runs: it may wait for all children, too."""
        if self._child is not None:
            os.waitpid(self._child, 0)
            self._child = None

    def run(self, request: dict[str, Any], expected_seconds: float) -> dict[str, Any]:
        """What a new process measured. Raises ProcessFailed where it failed or took far longer than expected."""
        if self._channel is None:
            raise ProcessFailed("no other process can be started")
        seconds = _ALLOWANCE * expected_seconds + _ALLOWANCE_SECONDS
        try:
            self._channel.send({"request": request, "seconds": seconds})
            answer = self._channel.receive()
        except ChannelClosed:
            self.close()
            raise ProcessFailed("the process ended") from None
        self.processor_seconds += answer.get("processorSeconds", 0.0)
        if "problem" in answer:
            raise ProcessFailed(answer["problem"])
        measured: dict[str, Any] = answer["measured"]
        return measured

    def close(self) -> None:
        """Ends the copy."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def has_memory(limit_bytes: int, needed_bytes: int = 0) -> bool:
    """Whether there is memory for so much more than this process keeps, or, for 0, for a new process that runs what
    this one ran. Returns what is free to the system first. `limit_bytes`: 0 where it is not known."""
    trim_heap()
    kept = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    most = needed_bytes or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return limit_bytes <= 0 or kept + most < _MEMORY_SHARE * limit_bytes


def time_rounds(
    times: Callable[[int], list[int]], rounds: int, budget_seconds: float, per_round: int = 0
) -> dict[str, Any]:
    """For a process that has run nothing of the step: `times` runs so many iterations. `per_round`: of each round; 0:
    as many as suit the warm-up and the time budget. Nanoseconds of the warm-up, whether torch.compile compiled nothing
    after it, nanoseconds of the iterations of each round, and its share of the processors in each."""
    warmup_ns, has_settled = warm_up(times, _LEAST_WARMUP, _MOST_WARMUP)
    per_round = per_round or Sampled(0, False, warmup_ns, round_seconds(warmup_ns, budget_seconds)).per_round
    compilations = Compilations()
    measured = [with_share(lambda: times(per_round)) for _ in range(rounds)]
    has_compiled, _ = compilations.step_ended()
    return {
        "warmupNs": warmup_ns,
        "hasSettled": has_settled and not has_compiled,
        "roundsNs": [times_ns for times_ns, _ in measured],
        "processorShares": [share for _, share in measured],
    }


def _serve(end: socket.socket, measure: Measure) -> None:
    """The copy: forks a process for each request, one after the other, until the other side closes its end."""
    requests = Channel(end)
    while True:
        request = requests.receive()
        ours, theirs = socket.socketpair()
        process = os.fork()
        if process == 0:
            with contextlib.suppress(BaseException):
                end.close()
                ours.close()
                sys.modules["_ridgeline_agent"].end_with_parent()
                _answer(Channel(theirs), request["request"], measure)
            os._exit(0)
        theirs.close()
        readable, _, _ = select.select([ours, end], [], [], request["seconds"])
        answer: dict[str, Any] = {
            "problem": f"it had not ended after {request['seconds']:.0f} s, far longer than in the profiled process; "
            "profile again when nothing else uses the machine"
        }
        if ours in readable:
            try:
                answer = Channel(ours).receive()
            except ChannelClosed:
                answer = {"problem": "the process ended"}
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        ours.close()
        requests.send(answer)


def _answer(channel: Channel, request: dict[str, Any], measure: Measure) -> None:
    """Runs the user's code. What it prints was printed before."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(nothing, standard)
    try:
        answer: dict[str, Any] = {"measured": measure(request)}
    except BaseException as error:  # noqa: BLE001 - whatever user code raises is an answer
        answer = {"problem": summary(error)}
    channel.send(answer | {"processorSeconds": sum(os.times()[:4])})
