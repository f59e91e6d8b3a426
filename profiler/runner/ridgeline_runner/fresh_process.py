"""Times the step at one batch size in a process that has run nothing else, as a plain loop would.

On the CPU, a step that gets memory from the kernel in every iteration is faster in a process that has run larger batch
sizes: the C library's heap keeps what they freed. The process that records has run them. So a copy of it is made before
anything of the user's runs, and forks a process for every batch size that is to be timed. Each loads the entry file
anew.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter  # before user code can replace it
from typing import Any

from ridgeline_runner import timing
from ridgeline_runner.channel import Channel, ChannelClosed
from ridgeline_runner.failure import Failure, summary
from ridgeline_runner.samples import Sampled, round_seconds
from ridgeline_runner.training_step import TrainingStep

_ALLOWANCE = 5.0  # times what a process is expected to take, and this much more, is too long
_ALLOWANCE_SECONDS = 20.0
# Pages that nothing has used for a while come slowly, on a virtual machine from its host: a new process needs some
# iterations to have its own.
_LEAST_WARMUP, _MOST_WARMUP = 4, 8


@dataclass(frozen=True)
class Timed:
    """What one process measured, in nanoseconds."""

    warmup_ns: list[int]
    rounds_ns: list[list[int]]  # the iterations of each round
    load_seconds: float  # until the step could run
    processor_seconds: float  # that the process used


class FreshProcesses:
    """Owns the copy of this process. To be made before user code runs."""

    def __init__(self, load: Callable[[], TrainingStep], channel: Channel, budget_seconds: float) -> None:
        """`load` runs the entry file and its providers, in a new process. `channel` is the daemon's: the copy must not
        keep it open."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                # The user's code may wait for all children of its process: the copy must not be one of them.
                if os.fork() == 0:
                    channel.close()
                    ours.close()
                    _serve(theirs, load, budget_seconds)
            os._exit(0)
        theirs.close()
        os.waitpid(child, 0)
        self._channel: Channel | None = Channel(ours)

    def time(self, batch_size: int, rounds: int, expected_seconds: float) -> Timed:
        """Raises Failure where the process failed or took far longer than expected."""
        if self._channel is None:
            raise Failure("process", "no other process can be started")
        seconds = _ALLOWANCE * expected_seconds + _ALLOWANCE_SECONDS
        try:
            self._channel.send({"batchSize": batch_size, "rounds": rounds, "seconds": seconds})
            answer = self._channel.receive()
        except ChannelClosed:
            self.close()
            raise Failure("process", "the process ended") from None
        if "problem" in answer:
            raise Failure("process", answer["problem"])
        return Timed(answer["warmupNs"], answer["roundsNs"], answer["loadSeconds"], answer["processorSeconds"])

    def close(self) -> None:
        """Ends the copy."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _serve(end: socket.socket, load: Callable[[], TrainingStep], budget_seconds: float) -> None:
    """The copy: forks a process for each request, one after the other, until the other side closes its end."""
    requests = Channel(end)
    while True:
        request = requests.receive()
        ours, theirs = socket.socketpair()
        process = os.fork()
        if process == 0:
            status = 1
            with contextlib.suppress(BaseException):
                end.close()
                ours.close()
                sys.modules["_ridgeline_agent"].end_with_parent()
                _answer(Channel(theirs), request, load, budget_seconds)
                status = 0
            os._exit(status)
        theirs.close()
        readable, _, _ = select.select([ours, end], [], [], request["seconds"])
        answer: dict[str, Any] = {"problem": f"the process took longer than {request['seconds']:.0f} s"}
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


def _answer(channel: Channel, request: dict[str, Any], load: Callable[[], TrainingStep], budget_seconds: float) -> None:
    """Runs the user's code. What it prints was printed before."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(nothing, standard)
    try:
        channel.send(_measure(request["batchSize"], request["rounds"], load, budget_seconds))
    except BaseException as error:  # noqa: BLE001 - whatever user code raises is an answer
        channel.send({"problem": summary(error)})


def _measure(batch_size: int, rounds: int, load: Callable[[], TrainingStep], budget_seconds: float) -> dict[str, Any]:
    start = perf_counter()
    step = load()
    inputs = step.inputs(batch_size)
    load_seconds = perf_counter() - start
    warmup_ns = step.times(inputs, _LEAST_WARMUP)
    while not timing.is_warm(warmup_ns) and len(warmup_ns) < _MOST_WARMUP:
        warmup_ns += step.times(inputs, 1)
    sampled = Sampled(batch_size, False, warmup_ns, round_seconds(warmup_ns, budget_seconds))
    rounds_ns = [step.times(inputs, sampled.per_round) for _ in range(rounds)]
    return {
        "warmupNs": warmup_ns,
        "roundsNs": rounds_ns,
        "loadSeconds": load_seconds,
        "processorSeconds": sum(os.times()[:4]),
    }
