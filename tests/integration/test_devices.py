"""The runner's handling of devices, without one: which are synchronised, which library is used, what is reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import ENTRIES, profile

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

import torch
from ridgeline_runner.machine import devices, nvml
from ridgeline_runner.machine.devices import HOST, Device
from ridgeline_runner.step.recorder import Recorder


def parameter(device: str, count: int, index: int | None = None) -> Any:
    kind = SimpleNamespace(type=device, index=index)
    return ("name", SimpleNamespace(device=kind, numel=lambda: count, element_size=lambda: 4))


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Devices that were waited for."""
    waited: list[int] = []
    properties = SimpleNamespace(name="H100", total_memory=80 * 10**9, uuid="1234")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda index: (70 * 10**9, 80 * 10**9))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda index: 9 * 10**9)
    monkeypatch.setattr(torch.cuda, "get_per_process_memory_fraction", lambda index: 0.5)
    return waited


def test_the_device_is_the_one_with_most_of_the_model(cuda: list[int]) -> None:
    device = Device.of([parameter("cuda", 10, 1), parameter("cuda", 30, 0), parameter("cuda", 25, 1)])
    assert device.index == 1
    device.synchronise()
    assert cuda == [0, 1]
    assert device.description() == {
        "kind": "cuda",
        "name": "H100",
        "memoryBytes": 80 * 10**9,
        "availableBytes": 79 * 10**9,
        "allocatorConf": "",
        "memoryFraction": 0.5,
    }


def test_a_model_on_the_host_with_a_part_on_a_device(cuda: list[int]) -> None:
    device = Device.of([parameter("cpu", 100), parameter("cuda", 1, 0)])
    assert device.is_host
    assert device.description()["kind"] == ""
    device.synchronise()
    assert cuda == [0]


def test_another_kind_of_device_is_waited_for_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Any] = []
    accelerator = SimpleNamespace(current_accelerator=lambda: torch.device("xpu"), synchronize=waited.append)
    monkeypatch.setattr(torch, "accelerator", accelerator, raising=False)
    weight = SimpleNamespace(device=torch.device("xpu", 1), numel=lambda: 9, element_size=lambda: 4)
    device = Device.of([("weight", weight), ("bias", weight)])
    assert device.is_host and device.is_awaited and device.description()["kind"] == ""
    device.synchronise()
    assert waited == [torch.device("xpu", 1)]
    (warning,) = device.unrecorded()
    assert (
        warning.startswith("The model is on xpu:1, a kind of device that is not recorded") and "waited" not in warning
    )
    weight.device = torch.device("xla", 0)
    device = Device.of([("weight", weight)])
    device.synchronise()
    assert "the step's time is that of launching" in device.unrecorded()[0]
    assert not Device.of([parameter("cpu", 1)]).is_awaited and not Device.of([parameter("cpu", 1)]).unrecorded()


def test_a_model_without_parameters_is_on_the_host() -> None:
    assert Device.of([]).index == HOST
    assert Device.of([parameter("meta", 5)]).index == HOST
    assert Device.of([("weight", torch.nn.LazyLinear(2).weight)]).index == HOST


def test_parameters_of_lazy_modules_count_once_they_have_a_shape(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    text = (ENTRIES / "layers" / "entry.py").read_text()
    entry.write_text(text.replace("nn.Linear(256, 4096)", "nn.LazyLinear(4096)"))
    assert "LazyLinear" in entry.read_text()
    options = ("--seconds", "0.1", "--batch-sizes", "64")
    lazy, plain = profile(entry, *options), profile(ENTRIES / "layers" / "entry.py", *options)
    assert lazy["memory"]["byCategory"]["weights"] == plain["memory"]["byCategory"]["weights"]


def test_libraries_are_looked_for_where_torch_brings_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RIDGELINE_CUPTI", raising=False)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch, "__file__", str(tmp_path / "torch" / "__init__.py"))
    wheel = tmp_path / "nvidia" / "cuda_cupti" / "lib" / "libcupti.so.12"
    wheel.parent.mkdir(parents=True)
    wheel.touch()
    (wheel.parent / "libcupti.so.11.8").touch()
    found = devices.cupti_candidates()
    assert found[0] == str(wheel)
    assert found[-1] == "libcupti.so.12"
    assert not [path for path in found if path.endswith("11.8")]
    monkeypatch.setenv("RIDGELINE_CUPTI", "/mine.so")
    assert devices.cupti_candidates() == ["/mine.so"]


def test_torchs_profiler_gets_the_slot_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    class Agent:
        def detach_device_memory(self) -> bool:
            happened.append("lent")
            return True

        def attach_device_memory(self) -> None:
            happened.append("back")

    import torch.autograd.profiler as profiler

    for name in ("_prepare_profiler", "_enable_profiler", "_disable_profiler"):
        monkeypatch.setattr(profiler, name, getattr(profiler, name))
    slot = devices.LentSlot(Agent())
    slot.install()
    assert not slot.was_lent
    with torch.profiler.profile():
        torch.ones(1)
        assert slot.was_lent
        assert "back" not in happened
    assert happened[-1] == "back"


@pytest.fixture
def nvml_library(tmp_path: Path) -> str:
    source = tmp_path / "nvml.c"
    source.write_text(
        "#include <string.h>\n"
        "static unsigned clocks[] = {1980, 1200, 1500}; static int at;\n"
        "int nvmlInit_v2(void) { return 0; }\n"
        'int nvmlDeviceGetHandleByUUID(const char* u, void** h) { *h = &at; return strcmp(u, "GPU-1234") ? 6 : 0; }\n'
        "int nvmlDeviceGetClockInfo(void* h, int kind, unsigned* c) { *c = clocks[at++ % 3]; return kind != 1; }\n"
        "int nvmlDeviceGetCurrentClocksThrottleReasons(void* h, unsigned long long* r)\n"
        "{ *r = at == 2 ? 0x24 : 1; return 0; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "nvml.so", source], check=True)
    return str(tmp_path / "nvml.so")


def test_a_device_that_is_slowed_down(nvml_library: str) -> None:
    clock = nvml.ClockOfDevice("1234", nvml_library)
    assert clock.warnings() == []
    for _ in range(3):
        clock.sample()
    assert clock.warnings() == [
        "The device was slowed down by its power limit and its temperature while the step was timed: "
        "its clock was between 1200 and 1980 MHz."
    ]


@pytest.mark.parametrize("library", ["/nowhere/nvml.so", "libm.so.6"])
def test_without_the_drivers_library_no_clock_is_known(library: str) -> None:
    clock = nvml.ClockOfDevice("1234", library)
    clock.sample()
    assert clock.warnings() == []


def test_a_part_of_a_device_has_no_clock(nvml_library: str) -> None:
    clock = nvml.ClockOfDevice("MIG-99", nvml_library)
    clock.sample()
    assert clock.warnings() == []


def test_launches_that_cupti_does_not_report_are_a_warning() -> None:
    class Agent:
        def __getattr__(self, name: str) -> Any:
            return {
                "measure_op_cost": lambda: (1.0, 1.0, 1),
                "measure_memory_cost": lambda: 1.0,
                "attach_device": lambda candidates: "",
                "device_counts": lambda: (7, 0),
                "begin": lambda: "",
            }.get(name, lambda *_: None)

    recorder = Recorder(Agent(), "/")
    recorder.use_device(SimpleNamespace(index=0, is_host=False, synchronise=lambda: None))  # type: ignore[arg-type]
    recorder.record(lambda: None, (), 1)
    recorder.record(lambda: None, (), 1)
    (warning,) = recorder.warnings()
    assert "none of 7 launches" in warning


def test_a_profile_with_the_library_that_is_named(tmp_path: Path) -> None:
    """The whole way, from the entry's launches to the report."""
    fake = tmp_path / "libfake_cupti.so"
    source = ROOT / "tests" / "integration" / "fake_cupti.cpp"
    subprocess.run(["c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-o", fake, source], check=True)
    entry = ENTRIES / "launching" / "entry.py"
    options = ("--seconds", "0.3", "--batch-sizes", "2,3")
    environment = {"RIDGELINE_CUPTI": str(fake), "RIDGELINE_TEST_FAKE_CUPTI": str(fake)}
    report = profile(entry, *options, **environment)
    assert not [warning for warning in report["warnings"] if "device" in warning]
    assert report["environment"]["device"] == "cpu"  # which the model is on
    report = profile(entry, *options, **{**environment, "RIDGELINE_CUPTI": "/nowhere/libcupti.so"})
    (warning,) = [warning for warning in report["warnings"] if "device" in warning]
    assert warning.startswith("There are no times of the device: /nowhere/libcupti.so: cannot open shared object file")
