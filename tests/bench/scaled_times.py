"""How well the time of a product on one GPU, scaled by the ratio of the rooflines, holds on another.

`python tests/bench/scaled_products.py FOLDER`: FOLDER has tables/NeuSight and tables/aiconfigurator. The rules are
those of scaled_product in server/estimate/scaled_time.h; the split is in docs/dev/other_gpus.md.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

import hardware

BINARY = os.environ.get("RIDGELINE_BINARY", str(Path(__file__).resolve().parents[2] / "build/bin/ridgeline"))
LEAST_EFFICIENCY = 0.5
Product = tuple[str, int, int, int, int]  # the operator, how many matrices, rows, columns, sum
Times = dict[Product, dict[str, float]]  # milliseconds by device


class Sheet:
    def __init__(self, device: str, dtype: str, size: int) -> None:
        command = [BINARY, "device", "--sheet", device, "--format", "json"]
        sheet = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        peaks = {peak["dtype"]: peak["flopPerS"]["all"]["value"] for peak in sheet["peaks"]}
        self.flop_per_ms = peaks[dtype] / 1e3
        self.bytes_per_ms = sheet["levels"][-1]["bytesPerS"]["all"]["value"] / 1e3
        self.size = size

    def bound(self, product: Product) -> float | None:
        """Milliseconds of computing; None where moving takes longer."""
        operator, b, m, n, k = product
        computing = 2 * b * m * n * k / self.flop_per_ms
        weights = (b if operator == "bmm" else 1) * k * n
        moving = self.size * (b * m * k + weights + b * m * n) / self.bytes_per_ms
        return computing if computing >= moving else None


def neusight(folder: Path) -> Times:
    rows: dict[Product, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in hardware.rows_of(folder / hardware.FOLDER):
        if row["OPName"] in {"bmm", "linear"}:
            b, m, n, k = (int(row[name]) for name in "BMNK")
            rows[row["OPName"], b, m, n, k][row["Device"]].append(float(row["Latency"]))
    return {product: {device: median(all) for device, all in found.items()} for product, found in rows.items()}


def aiconfigurator(folder: Path) -> Times:
    times: Times = defaultdict(dict)
    for path in sorted((folder / "tables/aiconfigurator").glob("gemm_*.csv.xz")):
        for row in csv.DictReader(io.StringIO(lzma.decompress(path.read_bytes()).decode())):
            if row["gemm_dtype"] == "bfloat16":
                product = ("mm", 1, int(row["m"]), int(row["n"]), int(row["k"]))
                times[product][row["device"]] = float(row["latency"])
    return times


def ratios(times: Times, sheets: dict[str, Sheet], operator: str, one: str, other: str) -> list[float]:
    """Measured beside scaled."""
    found = []
    for product, by_device in times.items():
        if product[0] != operator or one not in by_device or other not in by_device:
            continue
        there, here = sheets[one].bound(product), sheets[other].bound(product)
        if there and here and LEAST_EFFICIENCY * by_device[one] <= there <= by_device[one]:
            found.append(by_device[other] / (by_device[one] * here / there))
    return sorted(found)


def compare(
    times: Times, dtype: str, size: int, chosen: tuple[str, ...], held_out: tuple[str, ...], low: float, high: float
) -> None:
    sheets = {device: Sheet(device, dtype, size) for device in chosen + held_out}
    for operator in sorted({product[0] for product in times}):
        for devices in (chosen, *([device] for device in held_out)):
            pairs = [(one, other) for one in chosen for other in devices if one != other]
            if devices is not chosen:
                pairs += [(other, one) for one, other in pairs]
            by_pair = [found for pair in pairs if (found := ratios(times, sheets, operator, *pair))]
            every = [ratio for found in by_pair for ratio in found]
            quantiles = [(found[int(0.005 * len(found))], found[int(0.995 * len(found))]) for found in by_pair]
            inside = fmean(low <= ratio <= high for ratio in every)
            print(
                f"| {dtype} {operator} | {'chosen on' if devices is chosen else devices[0]} | {len(every)}"
                f" | {min(q[0] for q in quantiles):.2f} to {max(q[1] for q in quantiles):.2f}"
                f" | {fmean(abs(1 / ratio - 1) for ratio in every):.1%} | {inside:.1%} |"
            )


def main(folder: Path) -> None:
    print("| product | devices | times | widest pair | mean error | within |")
    print("|---|---|---:|---:|---:|---:|")
    pcie = ("Tesla P100-PCIE-16GB", "Tesla V100-PCIE-32GB", "NVIDIA A100-PCIE-40GB")
    compare(neusight(folder), "float32", 4, pcie, ("NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3"), 0.55, 3.8)
    times = aiconfigurator(folder)
    names = {name for found in times.values() for name in found}
    held_out = tuple(name for name in sorted(names) if "B200" in name)
    compare(times, "bfloat16", 2, tuple(sorted(names - set(held_out))), held_out, 0.55, 2.1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
