"""How well a time on one GPU, scaled to another, holds there: `./dev bench scaling --data FOLDER`.

FOLDER has tables/NeuSight, tables/aiconfigurator and tables/DeepBench. `ridgeline_work_probe` scales by the product's
own rules. The splits are in docs/dev/architecture/estimators.md.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import subprocess
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import deepbench
import hardware
from torch_keys import convolution, key, tensor

Table = Callable[[list[str], list[list[str]]], None]
Times = dict[str, dict[str, float]]  # milliseconds by device, of each operation
FIVE = hardware.TRAINED_WITH
A100, H100 = "NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3"


@dataclass(frozen=True)
class Group:
    """Operations of one rule, and the devices that its range was chosen on and tested on."""

    name: str
    times: Times
    chosen: tuple[str, ...]
    held_out: tuple[str, ...]


def by_key(rows: Iterator[hardware.Row], wanted: Callable[[hardware.Row], bool]) -> Times:
    times: Times = defaultdict(dict)
    for (device, one), ms in hardware.medians(row for row in rows if wanted(row)).items():
        times[one][device] = ms
    return times


def neusight(folder: Path) -> Iterator[Group]:
    rows = list(hardware.rows_of(folder / hardware.FOLDER))
    pcie = ("Tesla P100-PCIE-16GB", "Tesla V100-PCIE-32GB", "NVIDIA A100-PCIE-40GB")
    for name in ("linear", "bmm"):
        wanted = by_key(iter(rows), lambda row, name=name: row["OPName"] == name)  # type: ignore[misc]
        yield Group(f"float32 {name}", wanted, pcie, (A100, H100))
    reductions = ("softmax", "ln")
    elementwise = by_key(iter(rows), lambda row: row["OPName"] not in ("linear", "bmm", *reductions))
    yield Group("element-wise", elementwise, FIVE, ("NVIDIA L4", A100))
    for name in reductions:
        wanted = by_key(iter(rows), lambda row, name=name: row["OPName"] == name)  # type: ignore[misc]
        yield Group(name.replace("ln", "layer norm"), wanted, FIVE, ("NVIDIA L4", A100))
    times: Times = defaultdict(dict)
    found = defaultdict(list)
    for row in convolution_rows(folder / hardware.FOLDER / "train_collect_conv_linear_bmm.tar.xz"):
        batch, channels, size = (int(row[name]) for name in ("B", "Input_Channel", "Input_Size"))
        filters, width = (int(row[name]) for name in ("Output_Channel", "Kernel_Szie"))
        padding, stride = int(row["Padding"]), int(row["Stride"])
        x, weight = (batch, channels, size, size), (filters, channels, width, width)
        one = convolution("forward", x, weight, (padding, padding), (stride, stride))
        found[one, row["Device"]].append(float(row["Latency"]))
    for (one, device), values in found.items():
        times[one][device] = median(values)
    chosen = (A100, "Tesla P4", "Tesla T4")
    yield Group("convolution 3 × 3", times, chosen, ("Tesla P100-PCIE-16GB", "Tesla V100-PCIE-32GB"))


def convolution_rows(path: Path) -> Iterator[hardware.Row]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.removeprefix("./").startswith("conv/"):
                file = archive.extractfile(member)
                assert file is not None
                yield from csv.DictReader(io.StringIO(file.read().decode()))


def aiconfigurator(folder: Path) -> Group:
    times: Times = defaultdict(dict)
    for path in sorted((folder / "tables/aiconfigurator").glob("gemm_*.csv.xz")):
        for row in csv.DictReader(io.StringIO(lzma.decompress(path.read_bytes()).decode())):
            if row["gemm_dtype"] == "bfloat16":
                m, n, k = (int(row[name]) for name in "mnk")
                one = key("mm.default", tensor(m, k, dtype="bfloat16"), tensor(k, n, dtype="bfloat16"))
                times[one][row["device"]] = float(row["latency"])
    names = {name for found in times.values() for name in found}
    held_out = tuple(name for name in sorted(names) if "B200" in name)
    return Group("bfloat16 mm", times, tuple(sorted(names - set(held_out))), held_out)


def old_convolutions(folder: Path, descriptions: Path, binary: Path) -> Iterator[Group]:
    """DeepBench's; two of its devices have no data sheet, and are described in files."""
    p100 = json.loads(subprocess.run([binary, "machine", "show", "P100-PCIE", "--format", "json"],
                                     capture_output=True, text=True, check=True).stdout)  # fmt: skip
    devices = {"P100": "P100-PCIE", "V100": "V100"}
    for name, device in deepbench.DESCRIBED.items():
        path = descriptions / f"{name}.json"
        path.write_text(json.dumps(device.described_like(p100)))
        devices[name] = str(path)
    for what in ("forward, 3 × 3", "forward, others", "gradient of the input", "gradient of the weight"):
        times: Times = defaultdict(dict)
        for name, device in devices.items():
            for one, ms in deepbench.convolutions(folder / "tables/DeepBench", name, what):
                times[one][device] = ms
        chosen = (devices["M40"], devices["V100"])
        yield Group(f"convolution, {what} (DeepBench)", times, chosen, (devices["P100"], devices["TitanXp"]))


def scaled(probe: Path, times: Times, one: str, other: str) -> list[tuple[float, bool]]:
    """For each operation that is scaled, measured over scaled time, ascending, and whether it is in the range."""
    keys = [name for name, found in times.items() if one in found and other in found]
    lines = "".join(f"{times[name][one] * 1e6} {name}\n" for name in keys)
    said = subprocess.run([probe, "scale", one, other], input=lines, capture_output=True, text=True, check=True).stdout
    found = []
    for name, line in zip(keys, said.splitlines(), strict=True):
        if line != "-":
            ns, low, high = map(float, line.split())
            measured = times[name][other] * 1e6
            found.append((measured / ns, low <= measured <= high))
    return sorted(found)


def row_of(name: str, devices: str, by_pair: list[list[tuple[float, bool]]]) -> list[str]:
    every = [one for found in by_pair for one in found]
    low = min(found[int(0.005 * len(found))][0] for found in by_pair)
    high = max(found[int(0.995 * len(found))][0] for found in by_pair)
    error = fmean(abs(1 / ratio - 1) for ratio, _ in every)
    within = fmean(inside for _, inside in every)
    return [name, devices, str(len(every)), f"{low:.2f} to {high:.2f}", f"{error:.1%}", f"{within:.1%}"]


def rows_of_group(probe: Path, group: Group) -> Iterator[list[str]]:
    for devices in (group.chosen, *([device] for device in group.held_out)):
        pairs = [(one, other) for one in group.chosen for other in devices if one != other]
        is_chosen = devices is group.chosen
        if not is_chosen:
            pairs += [(other, one) for one, other in pairs]
        by_pair = [found for pair in pairs if (found := scaled(probe, group.times, *pair))]
        if by_pair:
            yield row_of(group.name, "chosen on" if is_chosen else Path(devices[0]).stem, by_pair)


def run(data: Path | None, binary: Path, probe: Path, table: Table) -> None:
    print("## Scaled times\n")
    if data is None or not (data / hardware.FOLDER).exists():
        print(f"Skipped: give --data FOLDER with {hardware.FOLDER}.\n")
        return
    with tempfile.TemporaryDirectory() as name:
        groups = [*neusight(data), aiconfigurator(data), *old_convolutions(data, Path(name), binary)]
        rows = [row for group in groups for row in rows_of_group(probe, group)]
    table(["operation", "devices", "times", "widest pair", "mean error", "within"], rows)
