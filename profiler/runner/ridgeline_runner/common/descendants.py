"""Counts and ends the descendants of this process.

With `adopt_orphans()` of the agent, a process whose own parent is gone becomes a child of this one, wherever it fled
(another group, another session), so nothing that a run started can leave the tree.
"""

from __future__ import annotations

import os
import signal
import time

# Far more than any step uses (a loader has tens of workers, a machine hundreds of threads), far less than it takes to
# stop a machine.
MAX_PROCESSES = 512
MAX_THREADS = 8192
_PATIENCE_SECONDS = 10.0


def threads_on_machine() -> int:
    """Threads of all processes; one cheap read. 0 when the system does not report it."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def descendants() -> dict[int, int]:
    """Process id → its number of threads, of every process below this one."""
    children: dict[int, list[int]] = {}
    threads: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()  # the name before it may hold anything
            except OSError:
                continue  # ended meanwhile
            children.setdefault(int(fields[1]), []).append(int(name))
            threads[int(name)] = int(fields[17])
    found: dict[int, int] = {}
    waiting = [os.getpid()]
    while waiting:
        for process in children.pop(waiting.pop(), []):
            found[process] = threads[process]
            waiting.append(process)
    return found


def are_too_many() -> bool:
    found = descendants()
    return len(found) > MAX_PROCESSES or sum(found.values()) > MAX_THREADS


def end_all() -> dict[int, int]:
    """Kills every process below this one and waits until there is none. Wait status by process id, of its children.

    Gives up after some seconds on what cannot be killed: a process in an uninterruptible wait.
    """
    ended: dict[int, int] = {}
    deadline = time.monotonic() + _PATIENCE_SECONDS
    _schedule(os.SCHED_RR, 1)  # hundreds of processes may want the processor, too
    try:
        while _reap(ended) and time.monotonic() < deadline:
            for process in descendants():
                try:
                    os.kill(process, signal.SIGKILL)
                except OSError:
                    continue  # ended meanwhile, or another user's
            time.sleep(0.001)
    finally:
        _schedule(os.SCHED_OTHER, 0)
    return ended


def _reap(ended: dict[int, int]) -> bool:
    """Collects the children that have ended; whether there are others."""
    try:
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return True
            ended[process] = status
    except ChildProcessError:
        return False


def _schedule(policy: int, priority: int) -> None:
    try:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except OSError:
        pass  # only an administrator may
