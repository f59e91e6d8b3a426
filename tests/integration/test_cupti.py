"""The collector of device activities, with a fake CUPTI and a fake device: tests/integration/fake_cupti.cpp.

Everything is real but the library: torch's ops, Python's stacks, the agent, the recording.
"""

from __future__ import annotations

import ctypes
import inspect
import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from device_fakes import recorded
from recordings import NONE, Recording
from ridgeline_runner.machine import interpreter

FILE = Path(__file__).name
LAUNCH, COPY, SYNCHRONISE = 1, 2, 3  # recording::Call
KERNEL, TO_DEVICE, TO_HOST, WITHIN_DEVICE, SET = range(5)  # recording::Activity
LOST = 4  # recording::Loss::kActivities
SUBSCRIBED_BY_ANOTHER, NOT_PERMITTED = 39, 35
US = 1000


class Fake:
    """The tests' side of the library."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._library = ctypes.CDLL(self.path)
        self._library.fake_count.restype = ctypes.c_long
        self._library.fake_left.restype = ctypes.c_long

    def set(self, name: str, value: int = 1) -> None:
        self._library.fake_set(name.encode(), ctypes.c_long(value))

    def count(self, name: str) -> int:
        return self._library.fake_count(name.encode())

    @property
    def left(self) -> int:
        return self._library.fake_left()

    def launch(self, name: str, ns: int = 5 * US) -> None:
        self._library.fake_launch(name.encode(), ctypes.c_uint64(ns))

    def driver_launch(self, name: str, ns: int = 5 * US) -> None:
        self._library.fake_driver_launch(name.encode(), ctypes.c_uint64(ns))

    def graph(self, kernels: int) -> None:
        self._library.fake_graph(kernels, ctypes.c_uint64(5 * US))

    def capture(self, name: str) -> None:
        self._library.fake_capture(name.encode())

    def instantiate(self) -> None:
        self._library.fake_instantiate()

    def replay(self) -> None:
        self._library.fake_replay(ctypes.c_uint64(5 * US))

    def copy(self, kind: int, size: int) -> None:
        self._library.fake_copy(kind, ctypes.c_uint64(size), ctypes.c_uint64(5 * US))

    def fill(self, size: int) -> None:
        self._library.fake_fill(ctypes.c_uint64(size), ctypes.c_uint64(5 * US))

    def overhead(self, ns: int) -> None:
        self._library.fake_overhead(ctypes.c_uint64(ns))

    def cut_off(self, size: int) -> None:
        self._library.fake_cut_off(ctypes.c_size_t(size))

    def synchronise(self) -> None:
        self._library.fake_synchronise()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Fake:
    built = tmp_path_factory.mktemp("cupti") / "libfake_cupti.so"
    source = ROOT / "tests" / "integration" / "fake_cupti.cpp"
    subprocess.run(["c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-o", built, source], check=True)
    return Fake(built)


@pytest.fixture(scope="module")
def module(agent: Path) -> Any:
    loaded = interpreter.load_agent(str(agent))
    loaded.set_module_call(torch.nn.Module._call_impl.__code__)
    return loaded


@pytest.fixture
def fake(library: Fake, module: Any) -> Iterator[Fake]:
    library.set("", 0)
    yield library
    module.detach_device()
    library.set("", 0)


@pytest.fixture
def record(module: Any, fake: Fake) -> Callable[..., Recording]:
    """Records iterations of a step as the runner does: the device is idle at both ends."""

    def record(step: Callable[[], Any], iterations: int = 1) -> Recording:
        assert module.attach_device([fake.path]) == ""
        return recorded(module, step, iterations, fake.synchronise)

    return record


def line_with(text: str) -> int:
    """The number of this file's one line that ends with `# text`."""
    lines = [i for i, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith(f"  # {text}")]
    assert len(lines) == 1
    return lines[0]


def activities(recording: Recording) -> list[tuple[int, str]]:
    return [
        (kind, recording.string(name))
        for kind, name in zip(recording.activity_kind, recording.activity_name, strict=True)
    ]


def calls_of(recording: Recording, name: str) -> list[int]:
    """The calls that requested the activities of that name."""
    return [recording.activity_call[i] for i, n in enumerate(recording.activity_name) if recording.string(n) == name]


def check_times(recording: Recording) -> None:
    """What the device did lies inside the iteration, in order."""
    assert list(recording.activity_start) == sorted(recording.activity_start)
    for start, end in zip(recording.activity_start, recording.activity_end, strict=True):
        assert recording.iteration_start[0] <= start <= end <= recording.iteration_end[-1]


@pytest.fixture(scope="module")
def scale(library: Fake) -> Any:
    """An operator of torch that launches a kernel, forwards and backwards."""
    torch.library.define("ridgeline_fake::scale", "(Tensor x) -> Tensor")

    @torch.library.impl("ridgeline_fake::scale", "CPU")
    def forward(x: torch.Tensor) -> torch.Tensor:
        library.launch("_Z12scale_kernelPf", 20 * US)
        return x * 2

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.ridgeline_fake.scale(x)

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
            library.launch("scale_backward", 30 * US)
            return gradient * 2

    return Scale.apply


def test_a_kernel_belongs_to_the_operator_and_the_line_that_launched_it(record: Any, scale: Any) -> None:
    x = torch.ones(3)

    def step() -> None:
        scale(x)  # forward

    recording = record(step)
    assert activities(recording) == [(KERNEL, "scale_kernel(float*)")]
    (call,) = calls_of(recording, "scale_kernel(float*)")
    assert recording.call_kind[call] == LAUNCH
    assert recording.string(recording.call_name[call]) == "cudaLaunchKernel"
    assert recording.op(recording.call_op[call]) == "ridgeline_fake::scale"
    node = recording.call_node[call]
    lines = set()
    while node:
        lines.add(recording.line(node))
        node = recording.node_parent[node]
    assert (FILE, line_with("forward")) in lines
    assert recording.activity_end[0] - recording.activity_start[0] == 20 * US
    assert recording.activity_start[0] >= recording.call_start[call]
    check_times(recording)


def test_a_kernel_of_backward_belongs_to_the_node_of_the_forward_operator(record: Any, scale: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    recording = record(lambda: scale(x).sum().backward())
    (call,) = calls_of(recording, "scale_backward")
    op = recording.call_op[call]
    names = []
    while op != NONE:
        names.append((recording.op_scope[op], recording.op(op), recording.op_sequence[op]))
        op = recording.op_parent[op]
    sequence = next(sequence for scope, name, sequence in names if scope == 1 and sequence >= 0)
    forward = [i for i in range(len(recording.op_name)) if recording.op(i) == "Scale"]
    assert [recording.op_sequence[i] for i in forward] == [sequence]


def test_a_kernel_that_python_launches_belongs_to_its_line(record: Any, fake: Fake) -> None:
    def step() -> None:
        fake.driver_launch("triton_poi_fused")  # triton

    recording = record(step)
    (call,) = calls_of(recording, "triton_poi_fused")
    assert recording.op(recording.call_op[call]) is None
    assert recording.string(recording.call_name[call]) == "cuLaunchKernel"
    node = recording.node_parent[recording.call_node[call]]  # the innermost frame is Fake's
    assert recording.line(node) == (FILE, line_with("triton"))


def test_kernels_of_a_graph_have_one_launch(record: Any, fake: Fake) -> None:
    recording = record(lambda: fake.graph(3))
    assert activities(recording) == [(KERNEL, "node0"), (KERNEL, "node1"), (KERNEL, "node2")]
    assert len(set(recording.activity_call)) == 1
    assert recording.string(recording.call_name[recording.activity_call[0]]) == "cudaGraphLaunch"
    assert recording.activity_stream == (7, 7, 7)


class Captured(torch.autograd.Function):
    """Launches a kernel each way, which is captured."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor, fake: Fake) -> torch.Tensor:
        context.fake = fake
        fake.capture("forward_kernel")
        return x * 2

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:
        context.fake.capture("backward_kernel")
        return gradient * 2, None


def test_what_a_graph_replays_is_of_the_calls_that_were_captured(module: Any, record: Any, fake: Fake) -> None:
    assert module.attach_device([fake.path]) == ""
    x = torch.ones(4, requires_grad=True)

    def capture() -> None:
        module.begin_capture()
        y = Captured.apply(x, fake)  # captured
        y.sum().backward()
        fake.driver_launch("not captured")
        module.end_capture()
        fake.instantiate()

    fake.capture("before anyone watched")
    capture()
    for recording in (record(fake.replay), record(fake.replay, 2)):  # it stays for all recordings
        replays = len(recording.iteration_start)
        names = [recording.string(name) for name in recording.activity_name]
        assert names == ["before anyone watched", "forward_kernel", "backward_kernel"] * replays
        assert {recording.string(recording.call_name[call]) for call in recording.activity_call} == {"cudaGraphLaunch"}
        first, forward, backward = recording.activity_captured[:3]
        assert first == NONE and recording.activity_captured == (first, forward, backward) * replays
        assert recording.call_start[forward] < recording.iteration_start[0]
        assert recording.op(recording.call_op[forward]) == "Captured"
        stack = recording.call_node[forward]
        lines = []
        while stack:
            lines.append(recording.line(stack))
            stack = recording.node_parent[stack]
        assert (FILE, line_with("captured")) in lines
        # The node of autograd has the number of the operation of forward: so it is on that line.
        node = recording.call_op[backward]
        numbers = set()
        while node != NONE:
            numbers.add(recording.op_sequence[node])
            node = recording.op_parent[node]
        assert recording.op_sequence[recording.call_op[forward]] in numbers


def test_a_recording_without_graphs_has_no_captured_calls(record: Any, fake: Fake) -> None:
    assert record(lambda: fake.launch("kernel")).activity_captured == ()


def test_copies_sets_and_waiting(record: Any, fake: Fake) -> None:
    def step() -> None:
        fake.copy(1, 4096)
        fake.copy(2, 64)
        fake.copy(8, 32)
        fake.copy(10, 16)
        fake.fill(1 << 20)

    recording = record(step)
    assert activities(recording) == [
        (TO_DEVICE, "Memcpy HtoD"),
        (TO_HOST, "Memcpy DtoH"),
        (WITHIN_DEVICE, "Memcpy DtoD"),
        (WITHIN_DEVICE, "Memcpy DtoD"),
        (SET, "Memset"),
    ]
    assert recording.activity_bytes == (4096, 64, 32, 16, 1 << 20)
    assert {recording.call_kind[call] for call in recording.activity_call} == {COPY}
    waits = [i for i, kind in enumerate(recording.call_kind) if kind == SYNCHRONISE]
    assert recording.call_end[waits[-1]] >= recording.activity_end[-1]
    assert "cudaGetDevice" not in {recording.string(name) for name in recording.call_name}


@pytest.mark.parametrize("version", [18, 22, 24, 26, 28, 130001, 130202, 130500])
def test_every_version_of_the_records(record: Any, fake: Fake, version: int) -> None:
    fake.set("version", version)

    def step() -> None:
        fake.launch("one")
        fake.copy(1, 8)
        fake.launch("two")
        fake.fill(9)

    recording = record(step)
    assert [name for _, name in activities(recording)] == ["one", "Memcpy HtoD", "two", "Memset"]
    assert recording.activity_bytes == (0, 8, 0, 9)
    assert NONE not in recording.activity_call
    assert recording.loss[LOST] == 0


@pytest.mark.parametrize("version", [17, 140000])
def test_unknown_versions_are_refused(module: Any, fake: Fake, version: int) -> None:
    fake.set("version", version)
    assert f"has version {version}" in module.attach_device([fake.path])


def test_records_may_have_the_number_of_the_drivers_call(record: Any, fake: Fake) -> None:
    fake.set("number of the driver")
    recording = record(lambda: fake.launch("kernel"))
    (call,) = calls_of(recording, "kernel")
    assert recording.string(recording.call_name[call]) == "cudaLaunchKernel"
    names = [recording.string(name) for name in recording.call_name]
    assert "cuLaunchKernel" not in names  # it is a part of the other


def test_records_that_come_late_and_in_any_order(record: Any, fake: Fake) -> None:
    fake.set("late")
    recording = record(lambda: [fake.launch(f"k{i}") for i in range(5)])
    assert [name for _, name in activities(recording)] == ["k0", "k1", "k2", "k3", "k4"]
    check_times(recording)


def test_many_records_in_many_buffers(record: Any, fake: Fake) -> None:
    recording = record(lambda: [fake.launch("kernel", 100) for _ in range(30_000)])
    assert len(recording.activity_kind) == 30_000
    assert list(recording.activity_call) == sorted(recording.activity_call)
    assert recording.loss[LOST] == 0
    check_times(recording)


@pytest.mark.parametrize(
    ("problem", "value"), [("unfinished", 1), ("drop", 1), ("small buffers", 64), ("clock is off", 10**12)]
)
def test_unknown_activities_are_counted_and_never_guessed(record: Any, fake: Fake, problem: str, value: int) -> None:
    fake.set(problem, value)
    recording = record(lambda: [fake.launch("kernel") for _ in range(5)])
    assert recording.activity_kind == ()
    assert recording.loss[LOST] == 5
    assert recording.call_kind.count(LAUNCH) == 5


@pytest.mark.parametrize("size", [4, 8, 111])
def test_a_record_that_is_cut_off_is_refused(record: Any, fake: Fake, size: int) -> None:
    def step() -> None:
        fake.launch("whole")
        fake.cut_off(size)
        fake.launch("after")

    recording = record(step)
    assert [name for _, name in activities(recording)] == ["whole", "after"]
    assert recording.loss[LOST] == 1


def test_records_outside_of_their_buffer_are_refused(record: Any, fake: Fake) -> None:
    fake.set("wild records")
    recording = record(lambda: fake.launch("kernel"))
    assert recording.activity_kind == ()
    assert recording.loss[LOST] == 1


def test_another_tool_has_cupti(module: Any, fake: Fake) -> None:
    callback = ctypes.CFUNCTYPE(None)(lambda: None)
    subscriber = ctypes.c_void_p()
    assert fake._library.cuptiSubscribe(ctypes.byref(subscriber), callback, None) == 0
    try:
        assert "another tool uses CUPTI" in module.attach_device([fake.path])
    finally:
        fake._library.cuptiUnsubscribe(subscriber)
    assert module.attach_device([fake.path]) == ""


@pytest.mark.parametrize(("result", "reason"), [(NOT_PERMITTED, "may not profile"), (15, "CUPTI_ERROR_15 (15)")])
def test_cupti_refuses(module: Any, fake: Fake, result: int, reason: str) -> None:
    fake.set("Subscribe", result)
    assert reason in module.attach_device([fake.path])
    fake.set("Subscribe", 0)
    fake.set("ActivityRegisterCallbacks", result)
    assert reason in module.attach_device([fake.path])
    assert fake.left == 0
    fake.set("ActivityRegisterCallbacks", 0)
    assert module.attach_device([fake.path]) == ""
    for what, value in (("ActivityEnable", result), ("EnableCallback", result)):
        fake.set(what, value)
        assert reason in module.begin()
        module.end()
        assert fake.left == 3  # the subscription, and the callbacks of graphs
        fake.set(what, 0)
    fake.set("refused kind", 17)  # overhead: nice to have
    assert module.begin() == ""
    module.end()


def test_times_by_cuptis_own_clock(record: Any, fake: Fake) -> None:
    fake.set("ActivityRegisterTimestampCallback", 1)
    recording = record(lambda: fake.launch("kernel", 50 * US))
    assert activities(recording) == [(KERNEL, "kernel")]
    assert abs(recording.activity_end[0] - recording.activity_start[0] - 50 * US) < 5 * US
    check_times(recording)


def test_nothing_is_left_after_a_detach(module: Any, record: Any, fake: Fake) -> None:
    record(lambda: fake.launch("kernel"))
    assert fake.left == 3  # the subscription, and the callbacks of graphs
    module.detach_device()
    assert fake.left == 0
    assert (fake.count("Unsubscribe"), fake.count("Finalize")) == (1, 1)
    module.detach_device()
    assert fake.count("Finalize") == 1
    fake.launch("unseen")
    assert len(record(lambda: fake.launch("again")).activity_kind) == 1


def test_each_recording_starts_empty(record: Any, fake: Fake) -> None:
    assert len(record(lambda: fake.launch("kernel"), iterations=3).activity_kind) == 3
    fake.launch("in between")
    recording = record(lambda: fake.launch("other"))
    assert activities(recording) == [(KERNEL, "other")]


def test_own_work_of_cupti_is_a_pause(record: Any, fake: Fake) -> None:
    recording = record(lambda: (fake.overhead(200 * US), fake.overhead(100 * US)))
    longest = sorted(end - start for start, end in zip(recording.pause_start, recording.pause_end, strict=True))[-2:]
    assert longest[0] >= 100 * US
    assert longest[1] >= 200 * US
    spans = sorted(zip(recording.pause_start, recording.pause_end, strict=True))
    assert all(first[1] < second[0] for first, second in itertools.pairwise(spans))


def test_every_thread_launches_for_itself(record: Any, fake: Fake) -> None:
    def elsewhere() -> None:
        for _ in range(200):
            fake.driver_launch("elsewhere", 100)

    def step() -> None:
        threads = [threading.Thread(target=elsewhere) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            fake.launch("here", 100)
        for thread in threads:
            thread.join()

    recording = record(step)
    here, there = calls_of(recording, "here"), calls_of(recording, "elsewhere")
    assert len(here) == 200
    assert len(there) == 800
    assert {recording.call_thread[call] for call in here} == {0}
    assert 0 not in {recording.call_thread[call] for call in there}
    code = inspect.unwrap(Fake.driver_launch).__code__
    assert {recording.line(recording.call_node[call])[1] for call in there} <= {code.co_firstlineno + 1}


def test_a_forked_process_records_nothing(record: Any, fake: Fake) -> None:
    def step() -> None:
        process = os.fork()
        if process == 0:
            fake.launch("child")
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0
        fake.launch("parent")

    assert activities(record(step)) == [(KERNEL, "parent")]


def test_launches_and_activities_are_counted(module: Any, record: Any, fake: Fake) -> None:
    module.attach_device([fake.path])
    module.begin()
    module.iteration_begin()
    fake.launch("kernel")
    fake.copy(1, 4)
    module.iteration_end()
    module.end()
    assert module.device_counts() == (1, 2)


def test_without_a_library_there_is_a_reason(module: Any, fake: Fake) -> None:
    assert module.attach_device([]) == "libcupti was not found"
    reason = module.attach_device(["/nowhere/libcupti.so.12", "libm.so.6"])
    assert "/nowhere/libcupti.so.12" in reason
    assert "libm.so.6 has no cuptiGetVersion" in reason
    assert module.attach_device(["/nowhere/libcupti.so.12", fake.path]) == ""
    with pytest.raises(TypeError):
        module.attach_device("text")
    fake.set("GetVersion", 999)
    module.detach_device()
    assert "does not report its version" in module.attach_device([fake.path])
