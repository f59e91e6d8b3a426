"""The requests to a caching allocator: torch's history of them, and their part in a recording.

There is no GPU here. The snapshots have the form that PyTorch documents ("Understanding CUDA Memory Usage").
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from device_fakes import recorded
from recordings import Recording
from ridgeline_runner.cuda.allocator_history import AllocatorHistory
from ridgeline_runner.step.recorder import Recorder
from test_device_memory import MIB, Report, module, report

__all__ = ["module", "report"]  # fixtures


class FakeMemory:
    """torch.cuda.memory as far as a history needs it."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.segments: list[dict[str, Any]] = []
        self.traces: list[list[dict[str, Any]]] = [[], []]

    def _record_memory_history(self, **keywords: Any) -> None:
        self.calls.append(keywords)

    def _snapshot(self) -> dict[str, Any]:
        return {"segments": self.segments, "device_traces": self.traces}


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> FakeMemory:
    fake = FakeMemory()
    monkeypatch.setattr(torch.cuda, "memory", fake)
    return fake


def block(state: str, size: int, requested: int = 0) -> dict[str, Any]:
    return {"state": state, "size": size, "requested_size": requested}


def event(action: str, address: int, size: int, stream: int = 0) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": size, "stream": stream, "time_us": 1}


def test_it_has_what_was_alive_and_then_the_requests(memory: FakeMemory) -> None:
    blocks = [block("active_allocated", 512, 400), block("inactive", 1024), block("active_pending_free", 512, 5)]
    memory.segments = [
        {"device": 1, "address": 0x1000, "stream": 0, "blocks": blocks},
        {"device": 0, "address": 0x9000, "stream": 0, "blocks": blocks},
    ]
    history = AllocatorHistory()
    history.begin()
    memory.traces[1] = [
        event("alloc", 0x1200, 1000, 0x7F00),
        event("segment_alloc", 0x8000, 2 * MIB),
        event("free_requested", 0x1200, 1000),
        event("free_completed", 0x1200, 1000),
        event("alloc", 0x8000, 3, 0x7F08),
    ]
    assert history.take(1) == [(0x1000, 400, 0), (0x1600, 5, 0), (0x1200, 1000, 1), (0x8000, 3, 2)]
    assert [call["enabled"] for call in memory.calls] == ["all", None]
    assert memory.calls[0]["context"] is None  # no stacks: they would cost more than the allocations
    assert history.take(0) == []


def test_without_a_history_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    history = AllocatorHistory()
    history.begin()  # the real one of a torch without CUDA
    assert history.take(0) == []


def test_a_history_of_another_form_is_no_failure(memory: FakeMemory) -> None:
    memory.segments = [{"device": 0}]
    history = AllocatorHistory()
    history.begin()
    memory.traces = []
    assert history.take(0) == []


def test_a_recording_has_the_requests(module: Any, report: Report) -> None:
    module.set_memory_device(0)
    report(0x1000, 512)

    def step() -> None:
        report(0x2000, 1024)
        report(0x1000, -512)
        report(0x1000, 2048)
        report(0x3000, 512)

    module.set_requests([(0x1000, 500, 0), (0x2000, 1000, 1), (0x1000, 2047, 0), (0x3000, 513, 0)])
    recording = recorded(module, step)
    assert list(zip(recording.memory_address, recording.memory_requested, recording.memory_stream, strict=True)) == [
        (0x1000, 500, 0),
        (0x2000, 1000, 1),
        (0x1000, 0, 0),  # freed
        (0x1000, 2047, 0),
        (0x3000, 0, 0),  # no block is smaller than its request: this is another's
    ]
    for address, size in ((0x2000, 1024), (0x1000, 2048), (0x3000, 512)):
        report(address, -size)
    module.set_requests([])


def test_a_history_that_begins_late_is_matched_from_its_end(module: Any, report: Report) -> None:
    module.set_memory_device(0)

    def step() -> None:
        for size in (512, 1024, 1536):
            report(0x1000, size)
            report(0x1000, -size)

    module.set_requests([(0x1000, 1000, 0), (0x1000, 1500, 0)])
    recording = recorded(module, step)
    events = zip(recording.memory_bytes, recording.memory_requested, strict=True)
    assert [requested for size, requested in events if size] == [0, 1000, 1500]
    module.set_requests([])


@pytest.mark.parametrize("requests", ["text", [(1, 2)], [(1, 2, "3")], [5]])
def test_requests_are_tuples_of_numbers(module: Any, requests: Any) -> None:
    with pytest.raises(TypeError):
        module.set_requests(requests)


def test_the_first_iteration_is_kept_whole(module: Any, report: Report) -> None:
    module.compact_memory()  # of other tests
    module.set_memory_device(0)
    report(0x1000, 512)
    report(0x2000, 1024)
    report(0x2000, -1024)
    report(0x2000, 2048)
    report(0x9000, 512, device=1)
    module.set_requests([(0x1000, 500, 0), (0x2000, 1000, 0), (0x2000, 2000, 0)])
    module.keep_first_events()
    module.set_requests([])
    report(0x2000, -2048)
    recording = recorded(module, lambda: None)
    columns = (recording.first_address, recording.first_bytes, recording.first_requested)
    assert list(zip(*columns, strict=True)) == [
        (0x1000, 512, 500),
        (0x2000, 1024, 1000),
        (0x2000, 0, 0),
        (0x2000, 2048, 2000),
    ]
    assert recording.memory_time[0] == recording.first_time[0]  # a block that is still there is known by that
    assert recording.memory_address == (0x1000,)
    assert recorded(module, lambda: None).first_address == ()  # of the first recording only
    report(0x1000, -512)
    report(0x9000, -512, device=1)


@pytest.fixture
def recorder(module: Any, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Without CUPTI."""
    monkeypatch.setattr(module, "attach_device", lambda candidates: "", raising=False)
    made = Recorder(module, str(ROOT))
    module.compact_memory()  # of other tests
    return made


def use_device(recorder: Recorder) -> None:
    recorder.use_device(SimpleNamespace(index=0, is_host=False, synchronise=lambda: None))


def first_of(recorder: Recorder) -> list[tuple[int, int]]:
    """Address and requested bytes of the events that the next recording keeps of the first iteration."""
    recorder.record(lambda: None, (), 1)
    recording = Recording(recorder.finish())
    return list(zip(recording.first_address, recording.first_requested, strict=True))


def test_the_recorder_keeps_what_came_until_the_first_iteration_had_ended(
    recorder: Recorder, report: Report, memory: FakeMemory
) -> None:
    report(0x1000, 512)
    memory.segments = [{"device": 0, "address": 0x1000, "stream": 0, "blocks": [block("active_allocated", 512, 500)]}]
    use_device(recorder)
    memory.traces[0] = [event("alloc", 0x2000, 1000)]
    report(0x2000, 1024)
    report(0x2000, -1024)
    recorder.forget_freed()
    report(0x3000, 512)
    report(0x3000, -512)
    recorder.forget_freed()
    assert first_of(recorder) == [
        (0x1000, 500),
        (0x2000, 1000),
        (0x2000, 0),
    ]
    report(0x1000, -512)


def test_an_attempt_that_failed_is_not_the_first_iteration(
    recorder: Recorder, report: Report, memory: FakeMemory
) -> None:
    report(0x1000, 512)
    use_device(recorder)
    report(0x2000, 2048 * MIB)
    report(0x2000, -2048 * MIB)
    recorder.forget_attempt()
    memory.traces[0] = [event("alloc", 0x3000, 1000)]
    report(0x3000, 1024)
    report(0x3000, -1024)
    recorder.forget_freed()
    assert first_of(recorder) == [
        (0x1000, 0),
        (0x3000, 1000),
        (0x3000, 0),
    ]
    report(0x1000, -512)
