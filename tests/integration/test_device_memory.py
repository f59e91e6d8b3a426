"""Allocator events of a CUDA device, which the tests report in the place of its caching allocator."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from device_fakes import built_for_torch, recorded
from recordings import NONE, Recording
from ridgeline_runner.machine import interpreter

Report = Callable[..., None]
MIB = 1 << 20


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """report(address, bytes, reserved, device)"""
    library = built_for_torch("fake_cuda_memory.cpp", tmp_path_factory.mktemp("memory"), interpreter.environment())

    def report(address: int, size: int, reserved: int = 2 * MIB, device: int = 0) -> None:
        library.fake_report(
            ctypes.c_void_p(address), ctypes.c_int64(size), ctypes.c_size_t(0), ctypes.c_size_t(reserved), device
        )

    return report


@pytest.fixture
def module(agent: Path) -> Iterator[Any]:
    loaded = interpreter.load_agent(str(agent))
    assert loaded.attach_memory()
    loaded.attach_device_memory()
    yield loaded
    loaded.set_memory_device(-1)
    loaded.detach_device_memory()
    loaded.detach_memory()


def events(recording: Recording) -> list[tuple[int, int, int]]:
    return list(zip(recording.memory_address, recording.memory_bytes, recording.memory_reserved, strict=True))


def test_a_recording_has_the_events_of_one_device(module: Any, report: Report) -> None:
    def step() -> None:
        report(0x1000, 512)
        report(0x2000, 1024, 4 * MIB)
        report(0x1000, -512, 4 * MIB)
        report(0x9000, 2048, 8 * MIB, device=1)
        torch.ones(100)

    module.set_memory_device(0)
    recording = recorded(module, step)
    assert events(recording) == [(0x1000, 512, 2 * MIB), (0x2000, 1024, 4 * MIB), (0x1000, 0, 4 * MIB)]
    report(0x2000, -1024)
    report(0x9000, -2048, device=1)
    module.set_memory_device(-1)
    on_host = events(recorded(module, step))
    assert {reserved for _, _, reserved in on_host} == {0}
    assert not {address for address, _, _ in on_host} & {0x1000, 0x2000, 0x9000}
    assert len([size for _, size, _ in on_host if size == 400]) == 1  # once, though torch has two ways to report it
    report(0x2000, -1024)
    report(0x9000, -2048, device=1)


def test_a_device_that_is_chosen_late_has_what_was_allocated_before(module: Any, report: Report) -> None:
    """As where a changed step is tried: which device has its parameters is known once they are there."""
    module.compact_memory()
    report(0x1000, 512)
    begin = module.ticks()
    report(0x2000, 1024)
    torch.ones(100)
    module.set_memory_device(0)
    middle = module.ticks()
    report(0x3000, 2048)
    report(0x3000, -2048)
    assert module.alive_bytes([begin, middle]) == [(512, 1536), (1536, 3584)]
    assert module.peak_bytes() == 3584
    for address, size in ((0x1000, 512), (0x2000, 1024)):
        report(address, -size)


def test_blocks_that_were_alive_before_come_first(module: Any, report: Report) -> None:
    module.set_memory_device(0)
    report(0x3000, 4096)
    report(0x4000, 64)
    report(0x4000, -64)
    recording = recorded(module, lambda: report(0x5000, 128))
    assert events(recording) == [(0x3000, 4096, 2 * MIB), (0x5000, 128, 2 * MIB)]
    assert recording.memory_time[0] < recording.iteration_start[0] < recording.memory_time[1]
    report(0x3000, -4096)
    report(0x5000, -128)


def test_events_have_their_operator_also_in_backward(module: Any, report: Report) -> None:
    class Step(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            report(0x6000, 512)
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
            report(0x6000, -512)
            report(0x7000, 256)
            return gradient

    module.set_memory_device(0)
    x = torch.ones(4, requires_grad=True)
    recording = recorded(module, lambda: Step.apply(x).sum().backward())
    ops = [recording.op(op) for op in recording.memory_op]
    assert ops == ["Step", None, "StepBackward"]
    assert recording.memory_op[1] == NONE
    report(0x7000, -256)


def test_threads_of_torch_have_the_observer_too(module: Any, report: Report) -> None:
    """As autograd's threads do, by LibTorch's thread-local state."""
    module.set_memory_device(0)

    @torch.jit.ignore
    def add(x: torch.Tensor) -> torch.Tensor:
        report(0x8000, 512)
        return x

    recording = recorded(module, lambda: torch.jit.wait(torch.jit.fork(add, torch.ones(1))))
    assert events(recording) == [(0x8000, 512, 2 * MIB)]
    report(0x8000, -512)


def test_torchs_profiler_can_have_the_slot(module: Any, report: Report) -> None:
    module.set_memory_device(0)

    def step() -> None:
        report(0x1000, 512)
        assert module.detach_device_memory()
        with torch.profiler.profile(profile_memory=True):
            assert not module.detach_device_memory()
            report(0x2000, 512)
        module.attach_device_memory()
        report(0x1000, -512)

    assert [address for address, _, _ in events(recorded(module, step))] == [0x1000, 0x1000]


def test_nothing_is_seen_after_a_detach(module: Any, report: Report) -> None:
    module.set_memory_device(0)
    assert module.detach_device_memory()
    assert not module.detach_device_memory()
    assert events(recorded(module, lambda: report(0x1000, 512))) == []


@pytest.mark.parametrize("device", [-2, 128, "cuda"])
def test_devices_are_numbers(module: Any, device: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        module.set_memory_device(device)
