"""Snapshots as torch.cuda.memory._dump_snapshot writes them, of a training loop whose memory is known at every moment.

The structure is that of torch/cuda/_memory_viz.py and of torch/csrc/cuda/Module.cpp, versions 2.1 and later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20
ROOT = "/home/user/project"
SITE = "/usr/lib/python3/site-packages/torch"


def frame(filename: str, line: int, name: str) -> dict[str, Any]:
    return {"name": name, "filename": filename, "line": line}


MAIN = frame(f"{ROOT}/train.py", 40, "main")
CALL = frame(f"{SITE}/nn/modules/module.py", 1779, "_call_impl")
WEIGHTS = [frame(f"{SITE}/nn/modules/module.py", 900, "_apply"), frame(f"{ROOT}/train.py", 12, "main")]
FORWARD = [frame(f"{SITE}/nn/functional.py", 5, "linear"), frame(f"{ROOT}/model.py", 21, "forward"), CALL, MAIN]
OPTIMIZER = [frame(f"{SITE}/optim/adam.py", 150, "_init_group"), frame(f"{ROOT}/train.py", 44, "main")]
LEAK = [frame(f"{ROOT}/train.py", 46, "main")]
HUGE = [frame(f"{ROOT}/model.py", 30, "forward"), CALL, MAIN]


@dataclass
class Device:
    """What an allocator would do: every block has a segment of its own."""

    events: list[dict[str, Any]] = field(default_factory=list)
    live: dict[int, tuple[int, list[dict[str, Any]]]] = field(default_factory=dict)
    reserved: dict[int, int] = field(default_factory=dict)  # by address
    pools: dict[int, tuple[int, int]] = field(default_factory=dict)  # private ones, by address
    allocated: int = 0
    peak: int = 0
    peak_lines: dict[str, int] = field(default_factory=dict)
    now_us: int = 1_700_000_000_000_000
    next_address: int = 0x7F0000000000

    def note(self, action: str, address: int, size: int, frames: list[dict[str, Any]]) -> None:
        self.now_us += 1000
        event = {"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.now_us}
        self.events.append(event | ({"frames": frames} if frames else {}))

    def alloc(self, size: int, frames: list[dict[str, Any]]) -> int:
        address, self.next_address = self.next_address, self.next_address + size
        self.note("segment_alloc", address, size, frames)
        self.note("alloc", address, size, frames)
        self.reserved[address] = size
        self.live[address] = (size, frames)
        self.allocated += size
        if self.allocated > self.peak:
            self.peak, self.peak_lines = self.allocated, self.lines()
        return address

    def free(self, address: int, *, gives_back: bool = True) -> None:
        size, frames = self.live.pop(address)
        self.allocated -= size
        self.note("free_requested", address, size, frames[-1:])
        self.note("free_completed", address, size, frames[-1:])
        if gives_back:
            self.note("segment_free", address, self.reserved.pop(address), [])

    def fail(self, size: int, device_free: int, frames: list[dict[str, Any]]) -> None:
        self.now_us += 1000
        event = {"action": "oom", "device_free": device_free, "size": size, "stream": 0, "time_us": self.now_us}
        self.events.append(event | {"frames": frames})

    def lines(self) -> dict[str, int]:
        """Live bytes by the innermost own line."""
        lines: dict[str, int] = {}
        for size, frames in self.live.values():
            own = [f for f in frames if f["filename"].startswith(ROOT)]
            name = f"{own[0]['filename'].removeprefix(ROOT + '/')}:{own[0]['line']}" if own else ""
            lines[name] = lines.get(name, 0) + size
        return lines

    def segments(self) -> list[dict[str, Any]]:
        return [
            {
                "device": 0,
                "address": address,
                "total_size": size,
                "allocated_size": size if address in self.live else 0,
                "active_size": size if address in self.live else 0,
                "stream": 0,
                "segment_type": "large",
                "segment_pool_id": self.pools.get(address, (0, 0)),
                "is_expandable": False,
                "frames": [],
                "blocks": [
                    {
                        "address": address,
                        "size": size,
                        "requested_size": size,
                        "state": "active_allocated" if address in self.live else "inactive",
                        "frames": self.live[address][1] if address in self.live else [],
                    }
                ],
            }
            for address, size in self.reserved.items()
        ]


def train(
    *,
    steps: int = 6,
    leak: int = MIB,
    fails: bool = False,
    truncate: int = 0,
    private: Sequence[tuple[int, bool]] = (),
) -> tuple[Device, dict[str, Any]]:
    """A loop with weights of 64 MiB, an optimizer state of 128 MiB, activations of 200 MiB, and a list that grows.
    `private`: the bytes of private pools, and whether they are free at the end."""
    device = Device()
    device.alloc(64 * MIB, WEIGHTS)
    kept: list[int] = []
    for step in range(steps):
        activations = [device.alloc(50 * MIB, FORWARD) for _ in range(4)]
        gradient = device.alloc(64 * MIB, [])  # by a thread of autograd
        for address in activations:
            device.free(address)
        if step == 0:
            device.alloc(128 * MIB, OPTIMIZER)
        temporary = device.alloc(8 * MIB, OPTIMIZER)
        device.free(temporary)
        device.free(gradient)
        if leak:
            kept.append(device.alloc(leak, LEAK))
    idle = device.alloc(32 * MIB, FORWARD)
    device.free(idle, gives_back=False)
    for number, (size, is_free) in enumerate(private):
        address = device.alloc(size, FORWARD)
        device.pools[address] = (0, 7 + number)
        if is_free:
            device.free(address, gives_back=False)
    if fails:
        device.fail(4096 * MIB, 100 * MIB, HUGE)
    snapshot = {
        "segments": device.segments(),
        "device_traces": [device.events[truncate:]],
        "allocator_settings": {
            "PYTORCH_CUDA_ALLOC_CONF": "",
            "expandable_segments": False,
            "roundup_power2_divisions": {},
        },
        "external_annotations": [],
    }
    return device, snapshot
