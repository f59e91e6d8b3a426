"""`ridgeline operations`: tables of others, plans for other devices, and operations timed on another machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT, ridgeline
from jsonschema import Draft202012Validator

sys.path.insert(0, str(ROOT / "tests/remote"))
from sshd import SSHD, serving  # noqa: E402

MEASURED = re.compile(r"(\d+) of (\d+) operations measured")
SCHEMA = Draft202012Validator(json.loads((ROOT / "protocol/measuring_plan.schema.json").read_text("utf-8")))


def operations(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """With a table of its own."""
    return ridgeline("operations", *arguments, RIDGELINE_CACHE=str(folder / "cache"))


def listed(folder: Path) -> list[dict[str, Any]]:
    return json.loads(operations(folder, "list", "--format", "json", "--most", "1000").stdout)


def test_a_published_table_is_imported_and_contradictions_are_shown(tmp_path: Path) -> None:
    table = tmp_path / "gemm.csv"
    table.write_text("Latency,Device,M,N,K\n1.2,Tesla T4,1024,1024,1024\n9.5,Tesla T4,2048,2048,2048\n")
    mapping = [f"--column={pair}" for pair in ("time_ms=Latency", "device=Device", "m=M", "n=N", "k=K")]
    done = operations(tmp_path, "import", table, "--format", "matmul", *mapping)
    assert done.returncode == 0, done.stderr
    assert "2 added, 0 replaced" in done.stdout
    other = tmp_path / "other.csv"
    other.write_text("time_ms,device,m,n,k,measured,source\n2.4,Tesla T4,1024,1024,1024,1600000000,a colleague\n")
    done = operations(tmp_path, "import", other, "--format", "matmul")
    assert done.returncode == 0, done.stderr
    assert "1 times contradict what was known" in done.stdout
    assert "gemm.csv" in done.stdout and "a colleague" in done.stdout
    kept = [row["ns"] for row in listed(tmp_path) if row["device"] == "Tesla T4" and ":1024,1024:" in row["key"]]
    assert kept == [1_200_000]


def test_a_wrong_table_changes_nothing(tmp_path: Path) -> None:
    table = tmp_path / "gemm.csv"
    table.write_text("time_us,device,m,n,k\n1200,Tesla P4,512,512,512\n9.5,Tesla P4,8192,8192,8192\n")
    done = operations(tmp_path, "import", table, "--format", "matmul")
    assert done.returncode == 1
    assert "gemm.csv: row 3: 9.5 µs is faster than P4 can be" in done.stderr
    assert not [row for row in listed(tmp_path) if row["device"] == "Tesla P4"]


ENTRY_OF_ACME = """import torch

LIBRARY = torch.library.Library("acme", "DEF")
LIBRARY.define("twice(Tensor x, str how) -> Tensor")
LIBRARY.impl("twice", lambda x, how: x * 2, "CPU")
LIBRARY.impl("twice", lambda x, how: torch.empty_like(x), "Meta")


class AcmeModel(torch.nn.Linear):
    acme_weights = "acme.bin"


def model_provider():
    return AcmeModel(512, 256)


def input_provider(batch_size=16):
    return (torch.randn(batch_size, 512),)


def iteration_provider(model):
    def iteration(x):
        with torch.profiler.record_function("acme phase"):
            y = torch.ops.acme.twice(x, "acme way")
        torch._assert_async(torch.tensor(True), "acme failed")
        model(y).sum().backward()

    return iteration
"""


def test_a_plan_names_what_is_missing_and_its_script_measures_it(tmp_path: Path) -> None:
    """The script holds shapes alone: of this entry, nothing that is called acme."""
    script = tmp_path / "measure.py"
    entry = tmp_path / "acme_project" / "acme.py"
    entry.parent.mkdir()
    entry.write_text(ENTRY_OF_ACME)
    plan = ["operations", "plan", entry, "--python", PYTHON, "--device", "a machine", "--format", "json"]
    done = ridgeline(*plan, "--script", script)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    SCHEMA.validate(made)
    assert not made["known"] and any("aten::addmm" in key for key in made["missing"])
    assert 0 < made["leastSeconds"] < 10
    assert made["keptHere"] >= 2
    assert "acme" not in script.read_text().lower() and "torch.nn.Linear" not in script.read_text()

    times = tmp_path / "times.csv"
    ran = subprocess.run(
        [PYTHON, script, "--output", times, "--device", "cpu"], capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    rows = times.read_text().splitlines()
    assert len(rows) > 1, ran.stderr
    imported = ridgeline("operations", "import", times, "--format", "operations")
    assert imported.returncode == 0, imported.stderr
    device = rows[1].rsplit('"', 1)[1].split(",")[5]
    after = ridgeline(*plan[:6], device, *plan[7:])
    assert len(json.loads(after.stdout)["known"]) >= len(rows) - 1


@pytest.mark.long
@pytest.mark.skipif(SSHD is None, reason="openssh-server is not installed")
def test_operations_are_measured_on_another_machine(linear_entry: Path) -> None:
    with serving(Path(os.environ["RIDGELINE_CACHE"]) / "agents") as host:
        options = ["--host", host.name, *host.options, "--host-python", sys.executable, "--measure-seconds", "5"]
        done = ridgeline("operations", "measure", linear_entry, "--python", PYTHON, *options, "--all")
        assert done.returncode == 0, done.stderr
        assert f"{host.name}: " in done.stdout
        again = ridgeline("operations", "measure", linear_entry, "--python", PYTHON, *options)
        assert again.returncode == 0, again.stderr
        measured, asked = (int(number) for number in MEASURED.search(done.stderr).groups())
        missing = MEASURED.search(again.stderr)
        assert "none was timed" in again.stdout if missing is None else int(missing[2]) <= asked - measured
        refused = ridgeline("operations", "measure", linear_entry, "--python", PYTHON, *options[:-3], "no-python")
    assert refused.returncode == 3
    assert "could not be timed on" in refused.stderr


def test_estimators_are_trained_with_torch_and_tested_on_held_out_times(tmp_path: Path) -> None:
    """The times follow a law, so that the errors are known: 2 µs + 0.1 ns for each multiplication."""
    schema = Draft202012Validator(json.loads((ROOT / "protocol/training.schema.json").read_text("utf-8")))
    sizes = [(8 + 7 * i % 61, 9 + 11 * i % 67, 10 + 13 * i % 71) for i in range(60)]
    rows = [f"{m},{n},{k},{2000 + 0.1 * m * n * k}" for m, n, k in sizes]
    table = tmp_path / "law.csv"
    table.write_text("m,n,k,time_ns\n" + "\n".join(rows))
    done = operations(tmp_path, "import", table, "--format", "matmul", "--device", "a law")
    assert done.returncode == 0, done.stderr
    train = ["train", "--device", "a law", "--python", PYTHON, "--hold-out", "0.3", "--format", "json"]
    done = operations(tmp_path, *train)
    assert done.returncode == 0, done.stderr
    trained = json.loads(done.stdout)
    schema.validate(trained)
    assert [model["kind"] for model in trained["models"]] == ["product"]
    assert trained["heldOut"][0]["meanError"] < 1e-6
    without = json.loads(operations(tmp_path, *train, "--without-product").stdout)
    assert without["models"][0]["kind"] != "product"
    assert without["heldOut"][0]["meanError"] > 0.001
    nothing = operations(tmp_path, "train", "--device", "nobody's", "--python", PYTHON)
    assert nothing.returncode == 2 and "No operation times of nobody's" in nothing.stderr


def test_models_across_devices_are_tested_on_one_that_trained_nothing(tmp_path: Path) -> None:
    """Times of a law: 2.5 times what the data sheet's memory and float32 peak allow, on three GPUs; the third only
    tests."""
    schema = Draft202012Validator(json.loads((ROOT / "protocol/training-across.schema.json").read_text("utf-8")))
    sheets = {"Tesla T4": (8.1e12, 320e9), "Tesla P4": (5.7e12, 192e9), "NVIDIA GeForce RTX 2080 Ti": (13.45e12, 616e9)}
    rows = []
    for device, (flops, bandwidth) in sheets.items():
        for i in range(50):
            m, n, k = 256 + 64 * (7 * i % 31), 256 + 64 * (11 * i % 29), 256 + 64 * (13 * i % 37)
            seconds = max(2 * m * n * k / flops, 4 * (m * k + k * n + m * n) / bandwidth)
            rows.append(f"{device},{m},{n},{k},{2.5e9 * seconds}")
    table = tmp_path / "law.csv"
    table.write_text("device,m,n,k,time_ns\n" + "\n".join(rows))
    assert operations(tmp_path, "import", table, "--format", "matmul").returncode == 0
    train = ["train", "--across-devices", "--test-on", "RTX 2080 Ti", "--python", PYTHON, "--format", "json"]
    done = operations(tmp_path, *train)
    assert done.returncode == 0, done.stderr
    trained = json.loads(done.stdout)
    schema.validate(trained)
    assert trained["devices"] == ["P4", "T4"]
    [unseen] = [one for one in trained["heldOut"] if not one["trained"]]
    assert unseen["device"] == "RTX 2080 Ti" and unseen["rows"] == 50
    assert unseen["meanError"] < 0.02 and abs(unseen["rooflineError"] - 0.6) < 0.01
    assert unseen["scaledError"] < 0.1
    too_few = operations(tmp_path, *train, "--test-on", "T4")
    assert too_few.returncode == 2 and "at least two GPUs" in too_few.stderr
