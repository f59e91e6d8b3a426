"""Data-parallel steps of which one rank's time is all that is known, against those that PyTorch published:
`./dev bench ranks --data FOLDER`, with tables/pytorch_ddp (pytorch/pytorch, BSD-3) and tables/Pollux (petuum/adaptdl,
Apache-2.0) in the folder."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

FILE = Path("tables/pytorch_ddp/ddp_benchmark_v100_scaling.csv")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Blocks = tuple[int, int, int, int]
MODELS: dict[str, Blocks] = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3)}
# DGX-1 with V100: six NVLinks of 25 GB/s each way; between machines InfiniBand of 4 x 100 Gbit/s.
CLUSTER = """
[[machine]]
name = "dgx"
count = 2
ranks = 8
[[link]]
from = "dgx"
to = "dgx"
latency_us = 5
bandwidth_gbit_s = 1200
[network]
latency_us = 20
bandwidth_gbit_s = 400
"""

# One machine of AWS with four T4 on PCIe 3 x16, and a DGX with eight A100 on twelve NVLinks.
ONE_MACHINE = """
[[machine]]
name = "one"
ranks = {ranks}
[[link]]
from = "one"
to = "one"
latency_us = 5
bandwidth_gbit_s = {gbit}
"""
POLLUX = {
    "aws": ("T4", ONE_MACHINE.format(ranks=4, gbit=126)),
    "dgx": ("A100", ONE_MACHINE.format(ranks=8, gbit=2400)),
}
LEAST_BATCH = 57


def measured(path: Path) -> dict[tuple[str, int, bool], float]:
    """Seconds by model, number of GPUs and whether DistributedDataParallel ran it; with its own bucket size."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {
        (row["model"], int(row["gpus"]), row["ddp"] == "yes"): float(row["sec_per_iter"])
        for row in csv.DictReader(lines)
        if row["bucket_cap_mb"] in ("", "25")
    }


def sizes(blocks: Blocks) -> tuple[int, list[int]]:
    """Bytes of the buffers, and of the gradients as backward has them: from the last parameter to the first."""
    sys.path.insert(0, str(EXAMPLES / "resnet50"))
    from resnet import ResNet

    model = ResNet(blocks, 1000)
    buffers = sum(buffer.numel() * 4 for buffer in model.buffers() if buffer.is_floating_point())
    return buffers, [parameter.numel() * 4 for parameter in model.parameters()][::-1]


def pollux(folder: Path, cluster: str, least_batch: int) -> dict[int, dict[int, float]]:
    """Seconds of ResNet-50 by batch size and number of GPUs of one machine. Smaller batches wait for their data."""
    times: dict[int, dict[int, float]] = {}
    with tarfile.open(folder / "tables/Pollux/traces.tar.xz") as archive:
        for member in archive:
            if member.name.endswith(f"imagenet/placements-{cluster}.csv"):
                text = archive.extractfile(member).read().decode()  # type: ignore[union-attr]
                for row in csv.DictReader(io.StringIO(text)):
                    if len(row["placement"]) == 1 and int(row["local_bsz"]) >= least_batch:
                        by_ranks = times.setdefault(int(row["local_bsz"]), {})
                        by_ranks[int(row["placement"])] = float(row["step_time"])
    return times


def predicted(
    probe: Path, cluster: str, alone: tuple[float, float], moved: tuple[int, list[int]]
) -> dict[int, tuple[float, float]]:
    """Milliseconds by number of ranks, from the range of one rank's (0: no upper end), and from the bytes of its
    buffers and of its gradients as backward has them."""
    buffers, gradients = moved
    given = " ".join(map(str, (*(round(ms * 1e6) for ms in alone), buffers, *gradients))) + "\n"
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(cluster)
        file.flush()
        command = [probe, "ranks", file.name]
        said = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
    return {int(ranks): (float(low) / 1e6, float(high) / 1e6) for ranks, low, high in map(str.split, said.splitlines())}


def row(what: str, ranks: int, alone: float, span: tuple[float, float], took: float) -> list[str]:
    """A row of the table; the times are in milliseconds."""
    inside = "yes" if span[0] <= took <= span[1] else "no"
    return [what, str(ranks), f"{alone:.0f}", f"{span[0]:.1f} to {span[1]:.1f}", f"{took:.0f}", inside]


def rows(data: Path, probe: Path) -> Iterator[list[str]]:
    times = measured(data / FILE)
    for name, blocks in MODELS.items():
        alone = times[name, 1, False]
        for ranks, span in predicted(probe, CLUSTER, (alone * 1e3,) * 2, sizes(blocks)).items():
            yield row(f"{name}, V100 (chosen on)", ranks, alone * 1e3, span, times[name, ranks, True] * 1e3)
    for cluster, (device, links) in POLLUX.items():
        for batch, by_ranks in pollux(data, cluster, LEAST_BATCH).items():
            spans = predicted(probe, links, (by_ranks[1] * 1e3,) * 2, sizes(MODELS["resnet50"]))
            for ranks in sorted(by_ranks.keys() & spans.keys()):
                what = f"resnet50, {device}, batch {batch}"
                yield row(what, ranks, by_ranks[1] * 1e3, spans[ranks], by_ranks[ranks] * 1e3)


def run(data: Path | None, probe: Path, table: Callable[[list[str], list[list[str]]], None]) -> None:
    print("## Data-parallel steps from the time of one rank\n")
    if data is None or not (data / FILE).exists():
        print(f"Skipped: give --data FOLDER with {FILE}.\n")
        return
    head = ["job", "GPUs", "one GPU, ms", "predicted, ms", "measured, ms", "inside"]
    table(head, list(rows(data, probe)))
