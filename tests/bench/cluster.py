"""Jobs of two and four ranks, predicted from one process and then run: `ridgeline job predict --cluster` against Gloo.

The ranks are in network namespaces, each with a link that tbf limits, and have one thread each, pinned to a processor.
Where there are more ranks than processors, they take turns on these. Needs root. Each row is predicted, and printed,
before it is run.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

SCRIPTS = Path(__file__).resolve().parent / "scripts"
BATCHES = {"mlp": 64, "cnn": 16, "transformer": 4, "deep": 64}
RATES = ("4gbit", "1gbit")
BUCKETS_MIB = (1, 25)
RANKS = 2
_BRIDGE = "ridgelinebridge"
_BURST = "80kb"  # what a link that was idle sends at once: more than a packet of 64 KiB, and less than most messages
_SECONDS = 5  # of each run, about
_QUIET = 0.05
_MOST_ATTEMPTS = 3
_NOISE = 0.02  # quartiles that are closer do not differ

Table = Callable[[list[str], list[list[str]]], None]


@dataclass(frozen=True)
class Case:
    """A job, its prediction and what it took, in milliseconds."""

    ranks: int
    model: str
    rate: str
    bucket: int
    overlap: bool
    predicted: dict[str, float]
    steps: list[float]
    others: float  # share of the processors that other processes took meanwhile

    @property
    def error(self) -> float:
        return self.predicted["value"] / median(self.steps) - 1

    def row(self) -> list[str]:
        name = f"{self.ranks} ranks, {self.model}, {self.rate}, {self.bucket} MiB"
        low, _, high = quantiles(self.steps, n=4)
        inside = self.predicted["low"] <= median(self.steps) <= self.predicted["high"]
        return [
            name if self.overlap else f"{name}, after backward",
            f"{self.predicted['value']:.1f} ms ({self.predicted['low']:.1f} to {self.predicted['high']:.1f})",
            f"{median(self.steps):.1f} ms ({low:.1f} to {high:.1f})",
            f"{self.error:+.1%}",
            "yes" if inside else "no",
            f"{self.others:.0%}",
        ]


def run(
    binary: Path,
    table: Table,
    rates: Sequence[str] = RATES,
    models: Sequence[str] = tuple(BATCHES),
    counts: Sequence[int] = (RANKS,),
) -> None:
    if os.geteuid() != 0:
        print("skipped: network namespaces need root\n")
        return
    cases = [case for count in counts for rate in rates for case in _cases_at(binary, count, rate, models)]
    table(
        ["job", "predicted", "run (quartiles)", "error", "in the interval", "others' load"],
        [case.row() for case in cases],
    )
    errors = sorted(abs(case.error) for case in cases)
    print(f"{len(cases)} jobs: median error {median(errors):.1%}, worst {errors[-1]:.1%}.")
    right, signs = _signs(cases)
    print(f"Which is faster of two bucket sizes, or with overlap, was right {right} of {signs} times.\n", flush=True)


def _signs(cases: list[Case]) -> tuple[int, int]:
    """How often the prediction has the right sign, and the pairs that differ in one choice and by more than noise."""
    right = signs = 0
    for i, a in enumerate(cases):
        for b in cases[:i]:
            one_choice = (a.bucket == b.bucket) != (a.overlap == b.overlap)
            same = one_choice and (a.ranks, a.model, a.rate) == (b.ranks, b.model, b.rate)
            slower, faster = (a, b) if median(a.steps) > median(b.steps) else (b, a)
            if same and quantiles(slower.steps, n=4)[0] > (1 + _NOISE) * quantiles(faster.steps, n=4)[2]:
                signs += 1
                right += slower.predicted["value"] > faster.predicted["value"]
    return right, signs


def _cases_at(binary: Path, count: int, rate: str, models: Sequence[str]) -> Iterator[Case]:
    with namespaces(rate, count), TemporaryDirectory() as folder:
        file = measure_network(binary, Path(folder) / "cluster.toml", count)
        for model in models:
            yield from _cases_of(binary, count, rate, model, file)


def measured_network(binary: Path, rate: str, file: Path) -> Path:
    """What `ridgeline job network` measures of that link."""
    with namespaces(rate):
        return measure_network(binary, file)


def measure_network(binary: Path, file: Path, count: int = RANKS) -> Path:
    options = ["--python", sys.executable, "--largest", "64", "--seconds", "0.1", "--ranks", str(count)]
    address = ["--address", f"{_address(0)}:29511"]
    ranks(
        lambda rank: [str(binary), "job", "network", *options, *address, "--rank", str(rank), "--output", str(file)],
        {},
        count,
    )
    return file


def _cases_of(binary: Path, count: int, rate: str, model: str, file: Path) -> Iterator[Case]:
    environment = {"CLUSTER_MODEL": model}
    batch = str(BATCHES[model])
    command = [binary, "job", "predict", SCRIPTS / "cluster_entry.py", "--python", sys.executable, "--cluster", file]
    command += ["--batch-sizes", batch, "--seconds", "4", "--change", "no-overlap", "--format", "json"]
    for bucket in BUCKETS_MIB:
        command += ["--change", f"bucket-size:{bucket}MiB"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    for training in json.loads(done.stdout)["predicted"]:
        bucket, overlap, predicted = training["bucketBytes"] >> 20, training["overlap"], training["stepMs"]
        job = f"{count} ranks, {model}, {rate}, {bucket} MiB, {overlap=}"
        print(f"{job}: predicted {predicted['value']:.1f} ms", flush=True)
        steps = str(max(15, min(200, round(1e3 * _SECONDS / predicted["value"]))))
        rank = [sys.executable, str(SCRIPTS / "cluster_rank.py"), batch, steps, str(bucket)]
        rank.append("overlap" if overlap else "after")
        output, others = min(attempts(lambda _, rank=rank: rank, environment, count), key=lambda attempt: attempt[1])
        case = Case(count, model, rate, bucket, overlap, predicted, json.loads(output), others)
        print(f"  run: {case.row()[2]}, {case.error:+.1%}; others' load {others:.0%}", flush=True)
        yield case


def attempts(
    command: Callable[[int], list[str]], environment: dict[str, str], count: int
) -> Iterator[tuple[str, float]]:
    """Runs of a job, until one is quiet: what rank 0 writes, and what other processes took of the processors."""
    for _ in range(_MOST_ATTEMPTS):
        before, start = _busy_seconds() - _own_seconds(), time.perf_counter()
        output = ranks(command, environment, count)
        others = _busy_seconds() - _own_seconds() - before
        yield output, max(0.0, others) / (time.perf_counter() - start) / (os.cpu_count() or 1)
        if others < _QUIET * (time.perf_counter() - start) * (os.cpu_count() or 1):
            return


def _busy_seconds() -> float:
    """Seconds that all processors were busy, in processes of any user."""
    user, nice, system = Path("/proc/stat").read_text().split()[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Processor time of this process, and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@contextlib.contextmanager
def namespaces(rate: str, count: int = RANKS) -> Iterator[None]:
    """A namespace for each rank, whose link sends at most so much: of two to each other, of more to a bridge."""
    _remove(count)
    try:
        for rank in range(count):
            _ip("netns", "add", _name(rank))
        if count == 2:
            _ip("link", "add", "rl0", "netns", _name(0), "type", "veth", "peer", "name", "rl1", "netns", _name(1))
        else:
            _connect_to_bridge(count)
        for rank in range(count):
            _ip("-n", _name(rank), "addr", "add", f"{_address(rank)}/24", "dev", f"rl{rank}")
            _ip("-n", _name(rank), "link", "set", "lo", "up")
            _ip("-n", _name(rank), "link", "set", f"rl{rank}", "up")
            limit = ["root", "tbf", "rate", rate, "burst", _BURST, "latency", "200ms"]
            _ip("netns", "exec", _name(rank), "tc", "qdisc", "add", "dev", f"rl{rank}", *limit)
        yield
    finally:
        _remove(count)


def _connect_to_bridge(count: int) -> None:
    """In a namespace of its own, which limits nothing."""
    _ip("netns", "add", _BRIDGE)
    _ip("-n", _BRIDGE, "link", "add", "bridge", "type", "bridge")
    _ip("-n", _BRIDGE, "link", "set", "bridge", "up")
    for rank in range(count):
        port = ["peer", "name", f"port{rank}", "netns", _BRIDGE]
        _ip("link", "add", f"rl{rank}", "netns", _name(rank), "type", "veth", *port)
        _ip("-n", _BRIDGE, "link", "set", f"port{rank}", "master", "bridge", "up")


def _remove(count: int) -> None:
    for name in (*(_name(rank) for rank in range(count)), _BRIDGE):
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


def _ip(*command: str) -> None:
    subprocess.run(["ip", *command], check=True)


def _name(rank: int) -> str:
    return f"ridgeline{rank}"


def _address(rank: int) -> str:
    return f"10.213.0.{rank + 1}"


def ranks(command: Callable[[int], list[str]], environment: dict[str, str], count: int = RANKS) -> str:
    """Starts the command of each rank in its namespace and on its processor; what rank 0 writes."""
    processors = sorted(os.sched_getaffinity(0))
    processes: list[Any] = []
    for rank in range(count):
        job = {"MASTER_ADDR": _address(0), "MASTER_PORT": "29512", "WORLD_SIZE": str(count), "RANK": str(rank)}
        pinned = ["taskset", "-c", str(processors[rank % len(processors)])]
        processes.append(
            subprocess.Popen(
                ["ip", "netns", "exec", _name(rank), *pinned, *command(rank)],
                env={**os.environ, **environment, **job, "GLOO_SOCKET_IFNAME": f"rl{rank}"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    results = [rank.communicate(timeout=300) for rank in processes]
    if any(rank.returncode for rank in processes):
        sys.exit("\n".join(error for _, error in results))
    return results[0][0]
