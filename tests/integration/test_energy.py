"""The energy of a step: processors' counters in a folder like the kernel's, a device's in a library with NVML's names.

The folder's counters are files that the test advances.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PYTHON

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler/runner"))
from ridgeline_runner.machine import energy, nvml  # noqa: E402
from ridgeline_runner.machine.energy import Counter, Counters, processor_counters  # noqa: E402


def zone(root: Path, folder: str, name: str, microjoules: int = 0, most: int = 262_143_328_850) -> Path:
    path = root / folder
    path.mkdir(parents=True)
    (path / "name").write_text(name + "\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    (path / "max_energy_range_uj").write_text(f"{most}\n")
    return path


def two_packages(root: Path) -> Path:
    (root / "intel-rapl").mkdir(parents=True)  # the control type: no counter
    for package in (0, 1):
        zone(root, f"intel-rapl:{package}", f"package-{package}")
        zone(root, f"intel-rapl:{package}:0", "core")
        zone(root, f"intel-rapl:{package}:1", "dram")
    zone(root, "intel-rapl:2", "psys")
    zone(root, "intel-rapl-mmio:0", "package-0")
    return root


def test_what_counts_the_same_twice_is_taken_once(tmp_path: Path) -> None:
    counters = processor_counters(two_packages(tmp_path))
    assert [(counter.name, counter.of) for counter in counters.found] == [
        ("package-0", "processor"),
        ("dram of package-0", "memory"),
        ("package-1", "processor"),
        ("dram of package-1", "memory"),
    ]
    assert counters.problems == []


def test_the_dies_of_an_amd_package_are_counted_each(tmp_path: Path) -> None:
    for die in (0, 1):
        zone(tmp_path, f"intel-rapl:{die}", f"package-0-die-{die}")
        zone(tmp_path, f"intel-rapl:{die}:0", "core")
    assert [counter.name for counter in processor_counters(tmp_path).found] == ["package-0-die-0", "package-0-die-1"]


def test_without_counters_the_reason_is_one_sentence(tmp_path: Path) -> None:
    counters = processor_counters(tmp_path / "powercap")
    assert counters.found == []
    assert counters.problems == [
        f"There is no energy counter of the processors in {tmp_path}/powercap: virtual machines mostly have none."
    ]


def test_a_counter_that_may_not_be_read_has_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_packages(tmp_path)
    if os.getuid() == 0:  # may read everything: the kernel's refusal is made here
        real = Path.read_text

        def refuse(path: Path) -> str:
            if path.name == "energy_uj":
                raise PermissionError(13, "Permission denied", str(path))
            return real(path)

        monkeypatch.setattr(Path, "read_text", refuse)
    else:
        for file in tmp_path.glob("*/energy_uj"):
            file.chmod(0)
    counters = processor_counters(tmp_path)
    assert counters.found == []
    (problem,) = counters.problems
    assert "`sudo chmod a+r /sys/class/powercap/*/energy_uj`" in problem


def test_a_damaged_counter_is_named_and_the_others_count(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0")
    (zone(tmp_path, "intel-rapl:1", "package-1") / "energy_uj").write_text("\n")
    counters = processor_counters(tmp_path)
    assert [counter.name for counter in counters.found] == ["package-0"]
    (problem,) = counters.problems
    assert "intel-rapl:1 cannot be read" in problem


class Machine:
    """Two counters, one of a range that it passes, advanced by what `run` does: 3 J and 1 J an iteration."""

    def __init__(self, root: Path) -> None:
        self.files = [
            zone(root, "intel-rapl:0", "package-0", 262_143_000_000) / "energy_uj",
            zone(root, "intel-rapl:0:0", "dram") / "energy_uj",
        ]
        self.ran = 0

    def run(self, iterations: int) -> None:
        self.ran += iterations
        for file, microjoules in zip(self.files, (3_000_000, 1_000_000), strict=True):
            file.write_text(str((int(file.read_text()) + iterations * microjoules) % 262_143_328_850))
        time.sleep(0.001 * iterations)


def test_a_step_is_measured_across_the_end_of_a_counters_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "_PAUSE_SECONDS", 0.01)
    machine = Machine(tmp_path)
    found = energy.measure(machine.run, 0.1, processor_counters(tmp_path), 10)
    assert found is not None
    assert [counter["joules"] for counter in found["counters"]] == pytest.approx([3, 1])
    assert found["joules"] == pytest.approx(4)
    assert (found["low"], found["high"]) == pytest.approx((4, 4))
    assert [counter["idleWatts"] for counter in found["counters"]] == [0, 0]
    assert (found["rounds"], found["iterations"]) == (6, 12)
    assert machine.ran == 13  # one of them warms up
    assert found["iterationMs"] >= 1


def test_a_slow_step_is_measured_in_fewer_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "_PAUSE_SECONDS", 0.01)
    found = energy.measure(Machine(tmp_path).run, 4.0, processor_counters(tmp_path), 10)
    assert found is not None
    assert (found["rounds"], found["iterations"]) == (2, 2)
    assert energy.longest_seconds(4.0, 10) == pytest.approx(19.5)


def test_an_iteration_longer_than_a_counters_range_is_not_measured(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", most=65_532_610_987)
    counters = processor_counters(tmp_path)
    assert energy.measure(lambda _: pytest.fail("it ran"), 40.0, counters, 10) is None
    assert counters.problems == ["An iteration takes so long that an energy counter may begin anew more than once."]


def test_a_counter_that_stands_still_is_no_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "_PAUSE_SECONDS", 0.0)
    counters = Counters([Counter("package-0", "processor", lambda: 5)])
    assert energy.measure(lambda _: None, 1.0, counters, 1) is None
    assert "stood still" in counters.problems[0]


def test_steps_of_a_script_are_measured_in_rounds_without_other_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(energy, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(energy, "_ROUND_SECONDS", 0.0015)
    machine = Machine(tmp_path)
    meter = energy.StepsMeter(processor_counters(tmp_path))
    meter.begin()
    for usual in (True, False, True, True, True, True):  # a round has two steps at most
        machine.run(1 if usual else 5)
        meter.step_ended(is_usual=usual)
    found = meter.result()
    assert found is not None
    assert found["joules"] == pytest.approx(4)
    assert (found["low"], found["high"]) == pytest.approx((4, 4))
    assert 2 <= found["rounds"] <= found["iterations"] <= 5


def test_steps_without_a_whole_round_are_not_measured(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    meter = energy.StepsMeter(processor_counters(tmp_path))
    meter.begin()
    machine.run(1)
    meter.step_ended(is_usual=True)
    assert meter.result() is None


def test_a_counter_of_a_script_that_cannot_be_read_any_more_is_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    counters = processor_counters(tmp_path)
    meter = energy.StepsMeter(counters)
    meter.begin()
    machine.files[0].unlink()
    time.sleep(energy._ROUND_SECONDS)
    meter.step_ended(is_usual=True)
    assert meter.result() is None
    assert "could not be read any more" in counters.problems[0]


NVML = """
#include <string.h>
static int at; static unsigned long long millijoules = 1000;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByUUID(const char* u, void** h) { *h = &at; return strncmp(u, "GPU-", 4) ? 6 : 0; }
int nvmlDeviceGetTotalEnergyConsumption(void* h, unsigned long long* mj) { *mj = millijoules += 250; return STATUS; }
"""


def nvml_library(folder: Path, status: int) -> str:
    (folder / "nvml.c").write_text(NVML)
    library = folder / "nvml.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-DSTATUS={status}", "-o", library, folder / "nvml.c"], check=True)
    return str(library)


def test_a_devices_energy_is_read_from_the_driver(tmp_path: Path) -> None:
    device = nvml.EnergyOfDevice("1234", nvml_library(tmp_path, 0))
    assert [device.read_uj(), device.read_uj()] == [1_250_000, 1_500_000]


@pytest.mark.parametrize(("status", "reason"), [(3, "before Volta"), (4, "does not let this user")])
def test_why_a_devices_energy_is_not_read(tmp_path: Path, status: int, reason: str) -> None:
    with pytest.raises(OSError, match=reason):
        nvml.EnergyOfDevice("1234", nvml_library(tmp_path, status)).read_uj()


@pytest.mark.parametrize(("library", "reason"), [("/nowhere/nvml.so", "is not there"), ("libm.so.6", "is not there")])
def test_without_the_drivers_library_a_devices_energy_is_not_known(library: str, reason: str) -> None:
    with pytest.raises(OSError, match=reason):
        nvml.EnergyOfDevice("1234", library).read_uj()


SCRIPT = """
import torch
model = torch.nn.Linear(256, 256)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
while True:
    optimizer.zero_grad()
    model(torch.randn(64, 256)).square().mean().backward()
    optimizer.step()
"""


@pytest.fixture
def running_meter(tmp_path: Path) -> Iterator[Path]:
    """A package that takes 20 W, in a folder."""
    root = tmp_path / "powercap"
    file = zone(root, "intel-rapl:0", "package-0") / "energy_uj"
    ended = threading.Event()
    began = time.monotonic()

    def advance() -> None:
        while not ended.wait(0.002):
            fresh = file.with_suffix(".new")
            fresh.write_text(str(round((time.monotonic() - began) * 20e6)))
            fresh.replace(file)

    thread = threading.Thread(target=advance)
    thread.start()
    yield root
    ended.set()
    thread.join()


def test_a_report_has_the_energy_of_the_step(running_meter: Path, tmp_path: Path) -> None:
    report_file = tmp_path / "report.json"
    entry = ROOT / "examples/mlp/entry.py"
    subprocess.run(
        [os.environ["RIDGELINE_BINARY"], "profile", entry, "--python", PYTHON, "--seconds", "2"]
        + ["--batch-sizes", "16", "--co2", "400", "--format", "json", "--output", report_file],
        env={**os.environ, "RIDGELINE_POWERCAP": str(running_meter)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    report = json.loads(report_file.read_text())
    measured = report["energy"]
    assert measured["watts"] == pytest.approx(20, rel=0.2)
    assert measured["joules"] == pytest.approx(measured["watts"] * measured["iterationMs"] / 1000)
    assert measured["joulesPerSample"] == pytest.approx(measured["joules"] / report["entry"]["batchSize"])
    assert measured["co2Grams"] == pytest.approx(measured["joules"] / 3.6e6 * 400)
    parts = sum(part["joules"] for part in report["lines"] + report["other"])
    assert parts == pytest.approx(measured["joules"] - measured["idleJoules"], abs=1e-9)


def test_a_script_and_the_projects_factor(running_meter: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ridgeline]\nco2-grams-per-kwh = 400\n")
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    subprocess.run(
        [os.environ["RIDGELINE_BINARY"], "profile", "--python", PYTHON, "--stop", "--seconds", "1"]
        + ["--format", "json", "--output", tmp_path / "report.json", script],
        env={**os.environ, "RIDGELINE_POWERCAP": str(running_meter)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    measured = json.loads((tmp_path / "report.json").read_text())["energy"]
    assert measured["watts"] == pytest.approx(20, rel=0.2)
    assert measured["joules"] == pytest.approx(measured["watts"] * measured["iterationMs"] / 1000)
    assert measured["co2Grams"] == pytest.approx(measured["joules"] / 3.6e6 * 400)
