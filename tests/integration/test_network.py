"""`ridgeline job network`: the links between real processes, as the file of a cluster."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib
from conftest import BINARY, PYTHON, ridgeline

QUICK = ("--python", PYTHON, "--largest", "4", "--seconds", "0.03")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.long
def test_processes_of_this_machine(tmp_path: Path) -> None:
    file = tmp_path / "cluster.toml"
    done = ridgeline("job", "network", *QUICK, "--output", file)
    assert done.returncode == 0, done.stderr
    cluster = tomllib.loads(file.read_text())
    name = socket.gethostname()
    assert [machine["name"] for machine in cluster["machine"]] == [name]
    assert cluster["placement"]["ranks"] == [name] * 4
    (link,) = cluster["link"]
    assert (link["from"], link["to"]) == (name, name)
    assert 1 < link["latency_us"] < 100_000, "what any machine takes for a message between its processes"
    assert 0.05 < link["bandwidth_gbit_s"] < 2000
    times = cluster["all_reduce"]
    assert times["ranks"] == 4
    assert times["bytes"][0] == 1024 and times["bytes"][-1] == 4 << 20
    assert all(
        low <= time <= high for low, time, high in zip(times["low_us"], times["time_us"], times["high_us"], strict=True)
    )
    assert times["time_us"][-1] > 40, "memory does not move 6 MiB a rank at 100 GB/s"
    assert times["processor_us"][-1] > 40, "nor does a processor copy it faster"
    assert len(times["four_us"]) == len(times["bytes"]), "all are small"
    assert times["four_us"][-1] > 1.5 * times["low_us"][-1]
    assert "both directions at once" in file.read_text()
    assert "two pairs of processes at once" in file.read_text()


def test_times_of_each_size() -> None:
    done = ridgeline("job", "network", *QUICK, "--ranks", "2")
    assert done.returncode == 0, done.stderr
    links, _, all_reduces = done.stderr.partition("all-reduce of 2 ranks")
    assert len(re.findall(r"^ +\d+ [KM]iB +[\d.]+ µs", all_reduces, re.MULTILINE)) == 7
    rows = re.findall(r"^ +(\d+) (KiB|MiB) +([\d.]+) µs", links, re.MULTILINE)
    assert [f"{size} {unit}" for size, unit, _ in rows] == [
        "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB",
    ]  # fmt: skip
    times = [float(time) for _, _, time in rows]
    assert all(time > 1 for time in times)
    assert times[-1] > 40, "memory does not move 4 MiB at 100 GB/s"
    assert "two pairs" not in done.stderr, "there are only two processes"


def test_each_machine_starts_its_own(tmp_path: Path) -> None:
    """As on two machines: each process is started by itself."""
    address = f"127.0.0.1:{free_port()}"
    command = [str(BINARY), "job", "network", *QUICK, "--ranks", "2", "--address", address, "--rank"]
    other = subprocess.Popen([*command, "1"], stdout=subprocess.PIPE, text=True, env=os.environ)
    first = subprocess.run([*command, "0"], capture_output=True, text=True, timeout=120)
    output, _ = other.communicate(timeout=60)
    assert first.returncode == 0, first.stderr
    assert other.returncode == 0
    assert output == "", "rank 0 has the figures"
    assert tomllib.loads(first.stdout)["placement"]["ranks"] == [socket.gethostname()] * 2


def test_a_wrong_command_line() -> None:
    done = ridgeline("job", "network", "--rank", "1")
    assert done.returncode == 2
    assert "both --rank and --address" in done.stderr


def test_an_interpreter_without_torch(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    done = ridgeline("job", "network", "--python", python)
    assert done.returncode == 3
    assert "needs torch with Gloo" in done.stderr
