"""Times on GPUs that nobody measured, against NeuSight's tables: `./dev bench hardware --data FOLDER`.

The split is in docs/dev/architecture/estimators.md.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import subprocess
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import kernelbench
from kernelbench import Timed
from steps_of_ranks import ONE_MACHINE, predicted
from torch_keys import key_of
from whole_models import Model, data_parallel_of, models_of

FOLDER = Path("tables/NeuSight")
TRAINED_WITH = (
    "Tesla P4",
    "Tesla P100-PCIE-16GB",
    "Tesla V100-PCIE-32GB",
    "Tesla T4",
    "NVIDIA A100-PCIE-40GB",
)
TESTED_ON = ("NVIDIA L4", "NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3")
MOST_BOUNDED = 0.1  # kMostBounded of server/operations/estimators/device_prediction.h
Row = dict[str, str]
Table = Callable[[list[str], list[list[str]]], None]


def rows_of(folder: Path) -> Iterator[Row]:
    for name in ("bmm", "linear", "vec"):
        yield from csv.DictReader(io.StringIO(lzma.decompress((folder / f"test/{name}.csv.xz").read_bytes()).decode()))
    with tarfile.open(folder / "train_collect_conv_linear_bmm.tar.xz") as archive:
        for member in archive:
            if member.isfile() and not member.name.removeprefix("./").startswith("conv/"):
                file = archive.extractfile(member)
                assert file is not None
                yield from csv.DictReader(io.StringIO(file.read().decode()))


def medians(rows: Iterable[Row]) -> dict[tuple[str, str], float]:
    """Milliseconds by device and key."""
    times = defaultdict(list)
    for row in rows:
        times[row["Device"], key_of(row)].append(float(row["Latency"]))
    return {where: median(values) for where, values in times.items()}


def run_ridgeline(binary: Path, cache: Path, *arguments: str) -> str:
    environment = {**os.environ, "RIDGELINE_CACHE": str(cache)}
    command = [str(binary), "operations", *arguments]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def train(binary: Path, cache: Path, times: dict[tuple[str, str], float]) -> Any:
    """What `ridgeline operations train` says of an empty table with these times."""
    table = cache / "times.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["device", "key", "time_ms"])
        writer.writerows([device, one, ms] for (device, one), ms in times.items())
    given = ("--format", "operations", "--torch", "2.1.0", "--source", "NeuSight")
    run_ridgeline(binary, cache, "import", str(table), *given)
    held_out = [word for device in TESTED_ON for word in ("--test-on", device)]
    answer = run_ridgeline(
        binary, cache, "train", "--across-devices", "--hold-out", "0.2", *held_out, "--format", "json"
    )
    return json.loads(answer)


@dataclass(frozen=True)
class Prediction:
    """The prediction of a step, in milliseconds."""

    ms: float
    low: float
    high: float
    roofline: float
    bounded: float  # share of `ms` that is a bound, since nothing estimates the operation

    @property
    def is_estimate(self) -> bool:
        """Else the step takes `low` at least, as `ridgeline devices --on` says of it."""
        return self.bounded <= MOST_BOUNDED


@dataclass(frozen=True)
class Times:
    """The times of an operation, in milliseconds; without `ms` only the roofline is known."""

    roofline: float
    ms: float
    low: float
    high: float


def predict_operations(probe: Path, estimators: Path, device: str, keys: Iterable[str]) -> list[Times]:
    lines = "".join(f"{one}\n" for one in keys)
    command = [probe, device, estimators]
    said = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    columns = ([float(word) / 1e6 for word in line.split()[4:9]] for line in said)
    return [Times(roofline, ms, low, high) for roofline, _, ms, low, high in columns]


def predict_model(probe: Path, estimators: Path, model: Model) -> Prediction:
    sums = [0.0] * 5
    found = predict_operations(probe, estimators, model.device, model.keys)
    for times, count in zip(found, model.keys.values(), strict=True):
        bound = 0.0 if times.ms else times.roofline
        parts = (times.ms or bound, times.low or bound, times.high or bound, times.roofline, bound)
        sums = [total + count * part for total, part in zip(sums, parts, strict=True)]
    return Prediction(sums[0], sums[1], sums[2], sums[3], sums[4] / sums[0])


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def print_operations(trained: Any, table: Table) -> None:
    heads = ["device", "held out", "operator", "times", "refused", "mean", "median", "worst", "in 95 %"]
    table(
        [*heads, "roofline, mean", "Habitat's scaling, mean"],
        [
            [
                one["device"],
                "shapes" if one["trained"] else "device",
                one["operation"].removeprefix("aten::"),
                str(one["rows"]),
                str(one["refused"]),
                *(percent(one[name]) for name in ("meanError", "medianError", "worstError", "withinInterval")),
                percent(one["rooflineError"]),
                percent(one["scaledError"]),
            ]
            for one in trained["heldOut"]
        ],
    )
    for model in trained["models"]:
        errors = ", ".join(f"{kind} {value:.1%}" for kind, value in model["crossValidationErrors"].items())
        print(f"- {model['mode']}: {model['rows']} times, {model['kind']}; devices left out in turn: {errors}")
    print()


def print_models(models: list[Model], predict: Callable[[Model], Prediction], table: Table) -> None:
    print("### Whole models\n")
    errors = defaultdict(list)
    rows = []
    for model in models:
        found = predict(model)
        difference = found.ms / model.milliseconds - 1
        inside = found.low <= model.milliseconds and (not found.is_estimate or model.milliseconds <= found.high)
        if found.is_estimate:
            errors["training" if model.trains else "inference"].append(abs(difference))
        rows.append(
            [
                model.device,
                model.name,
                f"{model.milliseconds:.1f}",
                f"{model.operations_sum / model.milliseconds - 1:+.1%}",
                f"{found.ms:.1f} ({found.low:.1f}–{found.high:.1f})" if found.is_estimate else f"≥ {found.low:.1f}",
                f"{difference:+.1%}" if found.is_estimate else "–",
                "yes" if inside else "no",
                percent(found.bounded),
                f"{found.roofline / model.milliseconds - 1:+.1%}",
            ]
        )
    heads = ["device", "model", "measured, ms", "sum of its measured operations", "predicted, ms", "error", "inside"]
    table([*heads, "of that, bounds", "roofline"], rows)
    for kind, values in errors.items():
        print(f"{kind}: {len(values)} models, mean error {fmean(values):.1%}, worst {max(values):.1%}")
    print()


def print_products(products: list[Timed], predict: Callable[[str, list[str]], list[Times]], table: Table) -> None:
    print("### Products of KernelBench\n")
    rows = []
    for device in dict.fromkeys(one.device for one in products):
        own = [one for one in products if one.device == device]
        pairs = list(zip(own, predict(device, [one.key for one in own]), strict=True))
        known = [(one.milliseconds, times) for one, times in pairs if times.ms]
        errors = [abs(times.ms / took - 1) for took, times in known]
        inside = [times.low <= took <= times.high for took, times in known]
        bounds = [abs(times.roofline / took - 1) for took, times in known]
        figures = (fmean(errors), max(errors), fmean(inside), fmean(bounds)) if known else (None,) * 4
        rows.append([device, str(len(own)), str(len(own) - len(known)), *map(percent, figures)])
    table(["device", "products", "refused", "mean", "worst", "in 95 %", "roofline, mean"], rows)


def print_data_parallel(model: Model, gradients: list[int], found: Prediction, probe: Path, table: Table) -> None:
    """Prints four measured ranks beside what follows from the prediction of one."""
    print("### On several GPUs\n")
    high = found.high if found.is_estimate else 0
    spans = predicted(probe, ONE_MACHINE.format(ranks=4, gbit=2400), (found.low, high), (0, gradients))
    low, high = spans[4]
    inside = low <= model.milliseconds <= high
    row = [model.device, model.name, f"{model.milliseconds:.1f}", f"{found.ms:.1f}", f"{low:.1f}–{high:.1f}"]
    table(["device", "model", "measured, ms", "one rank, predicted", "predicted", "inside"], [[*row, str(inside)]])


def run(data: Path | None, binary: Path, probe: Path, table: Table) -> None:
    print("## Times on other GPUs\n")
    if data is None or not (data / FOLDER).exists():
        print(f"Skipped: give --data FOLDER with {FOLDER}.\n")
        return
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name)
        print_operations(train(binary, cache, medians(rows_of(data / FOLDER))), table)
        models = models_of(data / FOLDER / "label.tar.xz")
        estimators = cache / "estimators.json"
        print_models(models, lambda model: predict_model(probe, estimators, model), table)
        parallel, gradients = data_parallel_of(data / FOLDER / "label.tar.xz")
        print_data_parallel(parallel, gradients, predict_model(probe, estimators, parallel), probe, table)
        if (data / kernelbench.FILE).exists():
            products = list(kernelbench.products_of(data))
            print_products(products, lambda device, keys: predict_operations(probe, estimators, device, keys), table)
