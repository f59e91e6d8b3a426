"""The fork server: holds torch and the agent imported, and forks a child for every run.

It never runs an op and never touches CUDA, so that its children start with working thread pools. It owns no results:
each child speaks to the daemon on a channel of its own.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import platform
import resource
import select
import signal
import socket
import sys
import traceback
from typing import Any

from ridgeline_runner.common import descendants, overlay, sources
from ridgeline_runner.common.channel import VERSION, Channel, ChannelClosed
from ridgeline_runner.common.failure import summary
from ridgeline_runner.machine.interpreter import collector_paused, environment, load_agent

_CHECK_SECONDS = 0.1


def _keep_objects() -> None:
    """A child's garbage collector visits only the child's own objects: not torch's, on pages it would copy. Garbage is
    kept too: a collection would take as long as some profiles."""
    gc.freeze()


def _mentions_optimizers(spec: dict[str, Any]) -> bool:
    texts = [text.encode(errors="replace") for text in spec.get("overlay", {}).values()]
    path = spec.get("entry", "")
    if os.path.isfile(path):
        with contextlib.suppress(OSError):
            texts.append(overlay.source_of(path))
    return any(b"optim" in text for text in texts)


def limit_memory(limit: int) -> None:
    """Makes allocations beyond the limit fail, so that too large a batch fails before the machine does."""
    if limit > 0:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def dump_stack_on_sigterm(output: int) -> None:
    """Makes SIGTERM write the Python stack before it ends the process: the daemon reads it when a run takes too long.

    Works even if the code never releases the interpreter. Processes that the code forks do not do it.
    """
    faulthandler.register(signal.SIGTERM, file=output, all_threads=False, chain=True)
    os.register_at_fork(after_in_child=lambda: faulthandler.unregister(signal.SIGTERM))


def serve(descriptor: int) -> int:
    """Answers the daemon until it closes the channel. Returns the exit code of the process."""
    os.set_inheritable(descriptor, False)
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        return _Parent(channel).run()
    except ChannelClosed:
        descendants.end_all()
        os._exit(0)  # at once: the daemon may be waiting, and nothing here needs cleaning up


class _Parent:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._children: dict[int, int] = {}  # process id → run id
        self._usual_threads = 0  # on the machine, when the run began
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)

    def run(self) -> int:
        try:
            described = environment()
        except BaseException as error:  # noqa: BLE001 - whatever a broken torch raises is reported
            self._channel.send(
                {
                    "type": "unusable",
                    "version": VERSION,
                    "message": summary(error),
                    "python": platform.python_version(),
                    "executable": sys.executable,
                }
            )
            return 1
        self._channel.send({"type": "ready", "version": VERSION, "environment": described})
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            timeout = _CHECK_SECONDS if self._children else None
            readable, _, _ = select.select([self._channel.fileno, self._wake_read], [], [], timeout)
            if self._wake_read in readable:
                os.read(self._wake_read, 4096)
            self._reap()
            self._check_number()
            if self._channel.fileno in readable:
                self._handle(self._channel.receive())

    def _handle(self, message: dict[str, Any]) -> None:
        if message["type"] == "loadAgent":
            self._load_agent(message["path"])
        elif message["type"] == "run":
            self._fork(message["id"], message["spec"], self._channel.take_descriptors())

    def _load_agent(self, path: str) -> None:
        try:
            load_agent(path)
            # So that not every child has to do it.
            from ridgeline_runner import session

            assert session
            sources.remember_modules()
            sys.modules["_ridgeline_agent"].adopt_orphans()
            _keep_objects()
        except Exception as error:  # noqa: BLE001
            self._channel.send({"type": "agentRefused", "message": f"{type(error).__name__}: {error}"})
        else:
            self._channel.send({"type": "agentLoaded"})

    def _fork(self, run: int, spec: dict[str, Any], descriptors: list[int]) -> None:
        channel_end, output = descriptors
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        if _mentions_optimizers(spec) and "torch._dynamo" not in sys.modules:
            # The first optimizer of a process imports it, and it takes longer than most profiles. Where it cannot be
            # imported, the run says so if it needs it.
            with contextlib.suppress(Exception), collector_paused():
                import torch._dynamo  # noqa: F401
            sources.remember_modules()
            _keep_objects()
        self._usual_threads = descendants.threads_on_machine()
        parent = os.getpid()
        process = os.fork()
        if process == 0:
            self._become_child(spec, channel_end, output, parent)
        os.close(channel_end)
        os.close(output)
        try:
            os.setpgid(process, process)
        except OSError:
            pass  # the child did it first
        self._children[process] = run
        self._channel.send({"type": "started", "id": run, "pid": process, "parent": parent})

    def _become_child(self, spec: dict[str, Any], channel_end: int, output: int, parent: int) -> None:
        """Runs one profile and leaves the process. Nothing of the parent's loop survives here."""
        status = 70
        try:
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._channel.close()
            os.close(self._wake_read)
            os.close(self._wake_write)
            for standard in (1, 2):
                os.dup2(output, standard)
            sys.modules["_ridgeline_agent"].end_with_parent()
            if os.getppid() != parent:
                os._exit(status)  # it ended before the line above
            dump_stack_on_sigterm(output)
            limit_memory(spec.get("memoryLimitBytes", 0))
            from ridgeline_runner import session

            status = session.run(spec, Channel(socket.socket(fileno=channel_end)))
        except BaseException:  # noqa: BLE001 - the process ends here; its last output is kept by the daemon
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        """Reports the runs that have ended, once none of their processes are left. Other orphans are only reaped."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            run = self._children.pop(process, None)
            if run is not None:
                if not self._children:
                    descendants.end_all()
                self._channel.send({"type": "exited", "id": run, "status": status, "tooMany": ""})

    def _check_number(self) -> None:
        """Ends the run when it has started too many processes or threads."""
        more = descendants.threads_on_machine() - self._usual_threads
        if self._children and more > descendants.MAX_PROCESSES // 2 and descendants.are_too_many():
            ended = descendants.end_all()
            reason = f"more than {descendants.MAX_PROCESSES} processes or {descendants.MAX_THREADS} threads"
            for process, run in self._children.items():
                status = ended.get(process, signal.SIGKILL)
                self._channel.send({"type": "exited", "id": run, "status": status, "tooMany": reason})
            self._children.clear()
