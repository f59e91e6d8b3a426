"""Products of KernelBench's first level (ScalingIntelligence/KernelBench, MIT; torch 2.5, float32, the clock of the
host) on GPUs of which NeuSight's tables have two at most: a second table to judge what these taught."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torch_keys import batches, key, tensor

FILE = Path("tables/KernelBench/timing.tar.xz")
# By its folder, the data sheet.
DEVICES = {
    "T4_modal": "T4",
    "L4_modal": "L4",
    "A10G_modal": "A10G",
    "L40S_modal": "L40S",
    "A100_modal": "A100",
    "A100-80GB_modal": "A100-SXM4-80GB",
    "H100_together": "H100",
    "B200_together": "B200",
}
SQUARE = (1024, 2048, 4096)  # rows, columns, depth of those that differ in what is transposed


def product(m: int, n: int, k: int, *, left: bool = False, right: bool = False) -> str:
    """`left`, `right`: that matrix is stored transposed."""
    a = tensor(m, k, strides=[1, m] if left else None)
    return key("mm.default", a, tensor(k, n, strides=[1, k] if right else None))


PROBLEMS = {
    "1_": product(2048, 2048, 2048),
    "2_": product(*SQUARE),
    "3_": batches(128, 128, 512, 256),
    "6_": product(256, 256, 131072),
    "7_": product(16384, 16384, 32),
    "8_": product(8205, 5921, 2949),
    "9_": product(16384, 16384, 16),
    "10_": product(16 * 1024, 768, 2048),
    "13_": product(4096, 4096, 4096),
    "16_": product(*SQUARE, left=True),
    "17_": product(*SQUARE, right=True),
    "18_": product(*SQUARE, left=True, right=True),
}


@dataclass(frozen=True)
class Timed:
    device: str
    problem: str
    key: str
    milliseconds: float


def products_of(data: Path) -> Iterator[Timed]:
    with tarfile.open(data / FILE) as archive:
        for folder, device in DEVICES.items():
            file = archive.extractfile(f"KernelBench/results/timing/{folder}/baseline_time_torch.json")
            assert file is not None
            for name, found in json.load(file)["level1"].items():
                one = next((one for start, one in PROBLEMS.items() if name.startswith(start)), None)
                if one and device.split("-")[0] in found["hardware"]:
                    yield Timed(device, name, one, float(found["mean"]))
