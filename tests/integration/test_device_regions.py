"""Times of a device by its own events, when CUPTI is unavailable.

There is no GPU here: the device is tests/integration/fake_cuda_events.cpp, behind the same door of LibTorch's.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from device_fakes import built_for_torch, recorded
from recordings import NONE, Recording
from ridgeline_runner.machine import interpreter
from ridgeline_runner.step.recorder import Recorder

MS = 10**6


class Fake:
    def __init__(self, library: ctypes.PyDLL) -> None:
        self._library = library

    def kernel(self, milliseconds: float) -> None:
        self._library.fake_kernel(ctypes.c_double(milliseconds))

    def fail(self, fails: bool) -> None:
        self._library.fake_fail(int(fails))

    def synchronise(self) -> None:
        self._library.fake_synchronise()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Fake:
    return Fake(built_for_torch("fake_cuda_events.cpp", tmp_path_factory.mktemp("events"), interpreter.environment()))


@pytest.fixture
def device(library: Fake, agent: Path) -> Iterator[tuple[Any, Fake]]:
    module = interpreter.load_agent(str(agent))
    library.fail(False)
    yield module, library
    library.fail(False)
    module.detach_regions()


def record(module: Any, fake: Fake, step: Callable[[], Any], iterations: int = 1) -> Recording:
    return recorded(module, step, iterations, fake.synchronise)


def on_device(fake: Fake, forward_ms: float, backward_ms: float) -> Any:
    """An operation whose kernels take so long."""

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            fake.kernel(forward_ms)
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
            fake.kernel(backward_ms)
            return gradient

    return Step


def lengths(recording: Recording, name: str) -> list[float]:
    rows = zip(recording.activity_name, recording.activity_start, recording.activity_end, strict=True)
    return [(end - start) / MS for text, start, end in rows if name in recording.string(text)]


def test_operations_take_what_the_device_takes(device: tuple[Any, Fake]) -> None:
    module, fake = device
    assert module.attach_regions(0) == ""
    step = on_device(fake, 20, 40)
    x = torch.ones(4, requires_grad=True)
    recording = record(module, fake, lambda: step.apply(x).sum().backward(), 2)
    assert not any(recording.loss)
    forward, backward = lengths(recording, "Step"), lengths(recording, "evaluate_function: StepBackward")
    assert len(backward) == 2
    assert [round(length / 10) for length in backward] == [4, 4]
    forward = [length for length in forward if length > 10 and length not in backward]
    assert [round(length / 10) for length in forward] == [2, 2]
    # The second operation waits in the stream for the first; the host does not.
    assert recording.activity_start == tuple(sorted(recording.activity_start))
    for start, end in zip(recording.iteration_start, recording.iteration_end, strict=True):
        inside = [s for s in recording.activity_start if start <= s <= end]
        assert inside and end - start >= 60 * MS


def test_an_activity_is_the_operations(device: tuple[Any, Fake]) -> None:
    module, fake = device
    assert module.attach_regions(0) == ""
    step = on_device(fake, 5, 5)
    recording = record(module, fake, lambda: step.apply(torch.ones(4)))
    found = [i for i, name in enumerate(recording.activity_name) if recording.string(name) == "Step"]
    assert len(found) == 1
    call = recording.activity_call[found[0]]
    assert call != NONE
    assert recording.op(recording.call_op[call]) == "Step"
    assert recording.call_node[call] == recording.op_node[recording.call_op[call]] > 0
    assert recording.activity_device[found[0]] == 0


def test_a_range_of_the_user_is_no_operation(device: tuple[Any, Fake]) -> None:
    module, fake = device
    assert module.attach_regions(0) == ""

    def step() -> None:
        with torch.profiler.record_function("everything"):
            torch.ones(4) + 1

    names = [recording.string(name) for recording in [record(module, fake, step)] for name in recording.activity_name]
    assert "everything" not in names
    assert "aten::add" in names


def test_without_the_device_there_are_no_times(device: tuple[Any, Fake]) -> None:
    module, fake = device
    fake.fail(True)
    assert "the device is gone" in module.attach_regions(0)
    assert record(module, fake, lambda: torch.ones(4) + 1).activity_name == ()


def test_what_fails_on_the_way_is_counted(device: tuple[Any, Fake]) -> None:
    module, fake = device
    assert module.attach_regions(0) == ""

    def step() -> None:
        torch.ones(4) + 1
        fake.fail(True)
        torch.ones(4) + 1

    recording = record(module, fake, step)
    assert len(recording.activity_name) == 2  # ones, add
    assert recording.loss[4] >= 2
    fake.fail(False)


@pytest.mark.parametrize("index", [-1, 128, "cuda"])
def test_devices_are_numbers(device: tuple[Any, Fake], index: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        device[0].attach_regions(index)


def test_the_recorder_falls_back_on_it(device: tuple[Any, Fake], monkeypatch: pytest.MonkeyPatch) -> None:
    module, fake = device
    monkeypatch.setenv("RIDGELINE_CUPTI", "/nowhere/libcupti.so")
    recorder = Recorder(module, str(ROOT))
    recorder.use_device(SimpleNamespace(index=0, is_host=False, synchronise=fake.synchronise))
    step = on_device(fake, 5, 5)
    recorder.record(lambda: step.apply(torch.ones(4)), (), 1)
    recording = Recording(recorder.finish())
    assert "Step" in [recording.string(name) for name in recording.activity_name]
    (warning,) = recorder.warnings()
    assert warning.startswith("There are no times of kernels: ")
    assert "between CUDA events" in warning
    recorder.detach()
    assert record(module, fake, lambda: torch.ones(4) + 1).activity_name == ()
