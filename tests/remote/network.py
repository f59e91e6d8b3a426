"""Two hosts with a network between them that is slow and loses packets: two network namespaces, each with a tunnel
device (TUN), and a thread that carries the packets from one to the other. Needs root and /dev/net/tun.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import heapq
import os
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

HERE, THERE = "10.77.0.1", "10.77.0.2"

_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8913, 0x8914, 0x8916, 0x891C
_IFF_UP = 1
_PACKET = 65536


def _bring_up(device: str, address: str | None) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = device.encode()
        for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.0")):
            if address is not None and value is not None:
                packed = struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(value))
                fcntl.ioctl(control, request, packed)
        flags = struct.unpack("16sH", fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack("16sH", name, 0))[:18])[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH", name, flags | _IFF_UP))


class _Side:
    """A namespace, held by a descriptor, and its tunnel device."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.tunnel = self.namespace = -1
        problem: list[BaseException] = []

        def enter() -> None:  # a namespace is a thread's own
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.unshare(_CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "unshare")
                self.namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
                self.tunnel = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                fcntl.ioctl(self.tunnel, _TUNSETIFF, struct.pack("16sH22x", b"link", _IFF_TUN | _IFF_NO_PI))
                _bring_up("link", address)
                _bring_up("lo", None)
            except BaseException as error:
                problem.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if problem:
            raise problem[0]

    @property
    def inside(self) -> list[str]:
        """What a command line begins with to run there."""
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.namespace}"]

    def close(self) -> None:
        for descriptor in (self.tunnel, self.namespace):
            os.close(descriptor)


@functools.cache
def why_not() -> str:
    """Why there can be no such network here; empty: there can."""
    try:
        _Side(HERE).close()
    except OSError as error:
        return f"no network namespace with a tunnel device can be made here: {error}"
    return ""


@dataclass
class Network:
    """May be changed at any time; what is on its way arrives."""

    here: _Side
    there: _Side
    delay: float = 0  # seconds, there and back together
    loss: float = 0  # of the packets, each way
    cut: bool = False
    carried: int = 0
    lost: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def carry(self, seed: int) -> None:
        dice = random.Random(seed)
        waiting: list[tuple[float, int, int, bytes]] = []  # due, number, to, packet
        across = {self.here.tunnel: self.there.tunnel, self.there.tunnel: self.here.tunnel}
        number = 0
        while not self._stop.is_set():
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, _, to, packet = heapq.heappop(waiting)
                with contextlib.suppress(OSError):  # a full device drops, as a full router does
                    os.write(to, packet)
            pause = min(0.05, waiting[0][0] - now) if waiting else 0.05
            for readable in select.select(list(across), [], [], pause)[0]:
                with contextlib.suppress(BlockingIOError):
                    packet = os.read(readable, _PACKET)
                    number += 1
                    if self.cut or dice.random() < self.loss:
                        self.lost += 1
                    else:
                        self.carried += 1
                        heapq.heappush(waiting, (time.monotonic() + self.delay / 2, number, across[readable], packet))


@contextlib.contextmanager
def network(delay: float = 0, loss: float = 0, seed: int = 1) -> Iterator[Network]:
    here, there = _Side(HERE), _Side(THERE)
    between = Network(here, there, delay, loss)
    carrier = threading.Thread(target=between.carry, args=(seed,), daemon=True)
    carrier.start()
    try:
        yield between
    finally:
        between._stop.set()
        carrier.join()
        here.close()
        there.close()
