"""`ridgeline report`: reports of Nsight Systems, exported as SQLite."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from conftest import ridgeline
from nsys_report import write_report
from test_import import assert_closes, imported


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.sqlite"
    write_report(path, {4242: 6})
    return path


def test_a_report_has_the_figures_that_it_was_made_with(report):
    found = imported(report, "--batch-size", "16")
    assert_closes(found)
    assert found["iteration"]["timeMs"] == pytest.approx(1.0)
    assert found["device"]["kernelMs"] == pytest.approx(0.6)
    assert found["device"]["copyMs"] == pytest.approx(0.05)
    kernels = {kernel["name"]: kernel for kernel in found["device"]["kernels"]}
    assert kernels.keys() == {"gemm", "gemm_backward", "adam"}
    assert kernels["gemm"]["launches"] == pytest.approx(1)
    assert found["device"]["byPhaseMs"]["backward"] == pytest.approx(0.3), "what autograd's thread launched"
    assert found["device"]["byPhaseMs"]["optimizer"] == pytest.approx(0.1)
    assert found["environment"]["deviceName"] == "NVIDIA A100"
    schedule = found["schedule"]
    assert schedule["replayedMs"] == pytest.approx(1.0, rel=0.01)
    assert schedule["deviceOnlyMs"] + schedule["bothMs"] == pytest.approx(0.65, rel=0.02)


def test_a_report_may_be_anywhere_and_is_not_changed(report, tmp_path):
    odd = tmp_path / "a ?mode=rw#50%.sqlite"
    report.rename(odd)
    odd.chmod(0o400)
    before = odd.read_bytes()
    assert imported(odd)["iteration"]["timeMs"] == pytest.approx(1.0)
    assert odd.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [odd.name]


def test_a_journal_beside_a_report_is_not_replayed(report):
    journal = report.with_name(report.name + "-journal")
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\xff" * 2000)
    assert imported(report)["iteration"]["timeMs"] == pytest.approx(1.0)
    assert journal.exists()


def test_the_text_report_says_what_the_figures_are_from(report):
    done = ridgeline("report", report, "--warnings")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "Imported from a report of Nsight Systems" in text
    assert "from the start of one NVTX range “step #” to the start of the next" in text
    assert "torch.profiler:" not in text


def test_one_process_of_several_is_chosen(tmp_path):
    path = tmp_path / "ranks.sqlite"
    write_report(path, {10: 4, 20: 6})
    warnings = " ".join(imported(path)["warnings"])
    assert "2 processes: 10, 20. This is process 20, which has most steps." in warnings
    assert "This is process 10." in " ".join(imported(path, "--process", "10")["warnings"])
    done = ridgeline("report", path, "--process", "30")
    assert done.returncode == 1 and "has no process 30. It has 10, 20." in done.stderr


def test_process_is_of_reports_only(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": []}), "utf-8")
    done = ridgeline("report", trace, "--process", "3")
    assert done.returncode == 1 and "--process is for reports of Nsight Systems" in done.stderr


def test_a_report_that_was_not_exported_is_recognised(tmp_path):
    path = tmp_path / "report1.nsys-rep"
    path.write_bytes(b"\x01\x02binary")
    done = ridgeline("report", path)
    assert done.returncode == 1 and "nsys export --type sqlite" in done.stderr


def test_damaged_and_foreign_files_are_refused(report):
    whole = report.read_bytes()
    report.write_bytes(whole[: len(whole) // 2])
    done = ridgeline("report", report)
    assert done.returncode == 1 and "damaged or cut off" in done.stderr
    report.write_bytes(whole[:9000] + bytes([0xEE]) * (len(whole) - 9000))
    done = ridgeline("report", report)
    assert done.returncode == 1 and "damaged or cut off (table " in done.stderr
    report.unlink()
    with sqlite3.connect(report) as database:
        database.execute("CREATE TABLE cookies (name TEXT)")
    database.close()
    done = ridgeline("report", report)
    assert done.returncode == 1 and "no report of Nsight Systems" in done.stderr
