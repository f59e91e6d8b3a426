"""`ridgeline report`: traces of torch.profiler, real ones of this machine's CPU and made-up ones of a GPU."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import BINARY, PYTHON, ROOT, ridgeline
from gpu_trace import GpuTrace
from jsonschema import Draft202012Validator

SCHEMA = json.loads((ROOT / "protocol/report.schema.json").read_text("utf-8"))
HERE = Path(__file__).resolve().parent


def imported(trace: Path, *options: str | Path) -> dict[str, Any]:
    done = ridgeline("report", trace, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(report)] == []
    return report


def nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(inner for child in node["children"] for inner in nodes(child))]


def assert_closes(report: dict[str, Any]) -> None:
    time = report["iteration"]["timeMs"]
    lines, other = report["lines"], report["other"]
    assert sum(one["timeMs"]["self"] for one in lines) + sum(o["timeMs"] for o in other) == pytest.approx(time)
    if "device" in report:
        device = report["device"]
        busy = sum(one["deviceMs"]["self"] for one in lines) + sum(o["deviceMs"] for o in other)
        assert busy == pytest.approx(device["kernelMs"] + device["copyMs"])
        assert busy + device["idleMs"] == pytest.approx(time)
        assert sum(device["waitsMs"].values()) == pytest.approx(time)
        assert report["breakdown"]["deviceMs"] == pytest.approx(busy)


# ---- A trace that torch.profiler writes here.


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("trace")
    trace, figures = folder / "cpu.json", folder / "figures.json"
    subprocess.run([PYTHON, HERE / "make_trace.py", trace, figures], check=True, capture_output=True, timeout=300)
    return trace, json.loads(figures.read_text("utf-8"))


def test_a_cpu_trace_closes_and_names_its_lines(recorded):
    report = imported(recorded[0], "--project-root", HERE, "--batch-size", "32")
    assert_closes(report)
    assert "device" not in report
    assert report["entry"]["batchSize"] == 32
    lines = {(line["file"], line["line"]): line for line in report["lines"]}
    source = (HERE / "make_trace.py").read_text("utf-8").splitlines()
    forward = 1 + source.index("    def forward(self, x):")
    step = 1 + source.index("def step(net, optimizer):")
    assert lines["make_trace.py", forward]["timeMs"]["forward"] > 0
    assert lines["make_trace.py", forward]["timeMs"]["backward"] > 0, "backward belongs to forward's line"
    # Each is within those that call it. Of the iteration there is more: what the machine did meanwhile.
    inner, outer = (lines["make_trace.py", line]["timeMs"]["total"] for line in (forward, step))
    assert inner <= outer <= report["iteration"]["timeMs"]
    events = json.loads(recorded[0].read_text("utf-8"))["traceEvents"]
    steps = [event["dur"] / 1000 for event in events if event["name"] == f"make_trace.py({step}): step"]
    assert len(steps) == 3 and outer > 0.9 * min(steps), "as the trace has it"
    assert {"Net", "Linear"} <= {node["type"] for node in nodes(report["breakdown"])}


def test_a_cpu_trace_with_shapes_says_what_its_operations_compute(recorded):
    report = imported(recorded[0], "--project-root", HERE, "--batch-size", "32")
    work = report["work"]
    # Forward and the gradient of the weights; of the second layer that of its input, too.
    assert work["total"]["matrixFlops"] == 2 * 32 * (2 * 64 * 256 + 3 * 256 * 10)
    assert work["found"] == work["listed"] > 0
    assert work["device"] is None, "which processor it was, a trace does not say"
    source = (HERE / "make_trace.py").read_text("utf-8").splitlines()
    backward = 1 + source.index("    loss.backward()")
    assert {line["line"] for line in work["lines"]} - {backward}, "operations are those of their lines"
    text = ridgeline("report", recorded[0], "--project-root", HERE).stdout
    assert "a trace does not say which processor" in " ".join(text.split())


def test_lines_of_a_cpu_trace_have_their_texts(recorded, tmp_path):
    """Only files in the project that have not changed since the trace was written have texts."""

    def texts(trace: Path, root: Path) -> dict[int, str]:
        report = imported(trace, "--project-root", root)
        return {line["line"]: line["text"] for line in report["lines"] if "text" in line}

    source = (HERE / "make_trace.py").read_text("utf-8")
    forward = 1 + source.splitlines().index("    def forward(self, x):")
    assert texts(recorded[0], HERE)[forward] == "def forward(self, x):"
    trace = tmp_path / "cpu.json"
    trace.write_bytes(recorded[0].read_bytes())
    (tmp_path / "make_trace.py").write_text(source, "utf-8")
    assert texts(trace, tmp_path) == {}, "written after the trace: it may be another version"
    trace.touch()
    assert texts(trace, tmp_path)[forward] == "def forward(self, x):"
    notes = tmp_path / "notes.txt"
    notes.write_text(source, "utf-8")
    trace.write_text(trace.read_text("utf-8").replace("make_trace.py(", "notes.txt("), "utf-8")
    assert forward in {line["line"] for line in imported(trace, "--project-root", tmp_path)["lines"]}
    assert texts(trace, tmp_path) == {}, "a trace may name any file: only Python is shown"


def test_operations_of_a_cpu_trace_are_those_of_key_averages(recorded):
    trace, figures = recorded
    report = imported(trace, "--project-root", HERE)
    averages = figures["averages"]
    counts: dict[str, int] = {}
    for node in nodes(report["breakdown"]):
        if not node["children"]:
            counts[node["name"]] = counts.get(node["name"], 0) + node["calls"]
    for operation in ("linear", "relu", "square", "mean", "randn"):
        assert counts[operation] == averages[f"aten::{operation}"]["count"] / figures["steps"], operation


def test_times_of_a_cpu_trace_are_those_of_key_averages(recorded):
    """Compares one step alone: the report shows the step in the middle, and key_averages the sum of all."""
    trace, figures = recorded
    document = json.loads(trace.read_text("utf-8"))
    steps = [e for e in document["traceEvents"] if str(e.get("name")).startswith("ProfilerStep#") and e["ph"] == "X"]
    assert len(steps) == figures["steps"]
    whole = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "args": {}}
    whole |= {"pid": steps[0]["pid"], "tid": steps[0]["tid"], "ts": steps[0]["ts"]}
    whole["dur"] = steps[-1]["ts"] + steps[-1]["dur"] - steps[0]["ts"]
    document["traceEvents"] = [e for e in document["traceEvents"] if e not in steps] + [whole]
    one = trace.with_name("one.json")
    one.write_text(json.dumps(document), "utf-8")
    report = imported(one, "--project-root", HERE)
    times: dict[str, float] = {}
    for node in nodes(report["breakdown"]):
        if not node["children"]:
            times[node["name"]] = times.get(node["name"], 0) + 1000 * node["byPhaseMs"]["forward"]
    for operation in ("linear", "relu", "square", "mean", "randn"):
        assert times[operation] == pytest.approx(
            figures["averages"][f"aten::{operation}"]["total_us"], rel=0.002, abs=1
        )


def test_the_peak_of_a_cpu_trace_is_unknown(recorded):
    """PyTorch counts the CPU's memory from when it is first profiled: what existed before is in no total."""
    document = json.loads(recorded[0].read_text("utf-8"))
    events = sorted((e for e in document["traceEvents"] if e["name"] == "[memory]"), key=lambda e: e["ts"])
    assert events[0]["args"]["Total Allocated"] == max(events[0]["args"]["Bytes"], 0)
    report = imported(recorded[0], "--project-root", HERE)
    assert report["memory"]["peakBytes"] is None
    assert any("so the peak is unknown" in warning for warning in report["warnings"])


def test_a_compressed_trace_gives_the_same_report(recorded, tmp_path):
    packed = tmp_path / "cpu.json.gz"
    packed.write_bytes(gzip.compress(recorded[0].read_bytes()))
    report = imported(packed, "--project-root", HERE)
    plain = imported(recorded[0], "--project-root", HERE)
    assert report | {"entry": None} == plain | {"entry": None}


def test_the_text_report_says_where_the_figures_come_from(recorded):
    done = ridgeline("report", recorded[0], "--project-root", HERE, "--warnings")
    assert done.returncode == 0, done.stderr
    assert "torch.profiler" in done.stdout
    assert "make_trace.py" in done.stdout
    assert "KERNEL" not in done.stdout


# ---- Traces of a GPU, made up. A double holds their times to a nanosecond.


@pytest.fixture(params=[1, 2, 3, 4, 5])
def made(request, tmp_path) -> tuple[GpuTrace, Path]:
    trace = GpuTrace(seed=request.param, steps=4 + request.param)
    path = tmp_path / "gpu.pt.trace.json"
    path.write_text(json.dumps(trace.document()), "utf-8")
    for name in ("model.py", "train.py"):
        (tmp_path / name).write_text("\n" * 40, "utf-8")
    return trace, path


def test_a_gpu_trace_has_the_figures_that_it_was_made_with(made):
    trace, path = made
    report = imported(path, "--project-root", path.parent)
    assert_closes(report)
    truth = trace.truth()
    device = report["device"]
    # The report's iteration is the median step; device times are means of the steps in the middle, as they are.
    assert device["scale"] == 1
    assert device["kernelMs"] == pytest.approx(truth["kernelMs"], rel=1e-4)
    assert device["copyMs"] == pytest.approx(truth["copyMs"], rel=1e-4)
    assert device["utilisation"] == pytest.approx(truth["kernelMs"] / report["iteration"]["timeMs"], rel=1e-4)
    lines = {f"{line['file']}:{line['line']}": line["deviceMs"] for line in report["lines"]}
    for line, time in truth["lines"].items():
        assert lines[line]["self"] == pytest.approx(time, rel=1e-4), line
    for name in ("deviceBound", "overlapped", "copy"):
        assert device["waitsMs"][name] == pytest.approx(truth["waits"][name], rel=1e-4, abs=1e-4), name
    idle = {name: truth["waits"][name] for name in ("sync", "hostBound", "idle")}
    for name, time in idle.items():
        shown = device["waitsMs"][name] / device["idleMs"]
        assert shown == pytest.approx(time / sum(idle.values()), rel=1e-4, abs=1e-4), name


def test_a_gpu_trace_has_its_kernels(made):
    trace, path = made
    report = imported(path, "--project-root", path.parent)
    table = {kernel["name"]: kernel for kernel in report["device"]["kernels"]}
    truth = trace.kernels()
    assert table.keys() == truth.keys()
    for name, row in truth.items():
        for figure, value in row.items():
            assert table[name][figure] == pytest.approx(value, rel=1e-4), (name, figure)
    assert report["device"]["launches"] == pytest.approx(sum(row["launches"] for row in truth.values()))


def test_the_text_report_of_a_gpu_trace(made):
    _, path = made
    done = ridgeline("report", path, "--project-root", path.parent)
    assert done.returncode == 0, done.stderr
    for words in ("cuda (NVIDIA H100)", "a kernel runs for", "device-bound", "KERNEL", "gemm_backward"):
        assert words in done.stdout


# ---- What is no trace.


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", "The file is empty"),
        (b"no json", "not valid JSON"),
        (b'{"a": 1}', "no list of traceEvents"),
        (b'{"traceEvents": []}', "no operations"),
        (b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "na', "ends too early"),
        (gzip.compress(b'{"traceEvents": []}', mtime=0)[:-9], "cut off"),
        (b"\x1f\x8bnot gzip at all", "damaged"),
    ],
    ids=["empty", "no-json", "no-list", "no-operations", "ends-early", "gzip-cut-off", "gzip-damaged"],
)
def test_refuses_what_is_no_trace(tmp_path, contents, words):
    path = tmp_path / "trace.json"
    path.write_bytes(contents)
    done = ridgeline("report", path)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stdout == ""


def test_refuses_what_is_no_file(tmp_path):
    for path, words in ((tmp_path / "none.json", "there is no file"), (tmp_path, "is a folder")):
        done = ridgeline("report", path)
        assert done.returncode == 2
        assert words in done.stderr


# Runs a command and prints its peak in KiB. A small process of its own: a child begins with the peak of its parent.
PEAK = """\
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("head", "unit", "words"),
    [
        (b"", b" ", "blanks or brackets longer than 1 MiB at byte 0"),
        (b'{"traceEvents":[{"ph":"X","name":"', b"x", "string longer than 4 MiB at byte 33"),
        (b'{"traceEvents":[', b"[],", "blanks or brackets longer than 1 MiB at byte 14"),
        (b'{"traceEvents":[{"ts":', b"7", "number longer than 4096 bytes at byte 22"),
    ],
    ids=["blanks", "string", "brackets", "number"],
)
def test_a_small_file_cannot_take_all_memory(tmp_path, head, unit, words):
    """1.2 GB, in a file of a hundredth of that: members of gzip, one after the other."""
    path = tmp_path / "bomb.json.gz"
    member = gzip.compress(unit * (6_000_000 // len(unit)), mtime=0)
    path.write_bytes(gzip.compress(head, mtime=0) + member * 200)
    done = subprocess.run([PYTHON, "-c", PEAK, BINARY, "report", path], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert words in done.stderr
    assert "record the trace again" in done.stderr
    assert int(done.stdout) < 300 * 1024, "KiB"


# ---- What a trace does not tell.


def trace_with(*memory: dict[str, Any]) -> str:
    def event(phase: str, category: str, name: str, ts: int, **more: Any) -> dict[str, Any]:
        return {"ph": phase, "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, **more}

    steps = [event("X", "user_annotation", f"ProfilerStep#{i}", 1000 * i, dur=1000) for i in range(1, 5)]
    operations = [event("X", "cpu_op", "aten::mm", 1000 * i + 100, dur=500) for i in range(1, 5)]
    changes = [event("i", "cpu_instant_event", "[memory]", 2150 + i, args=args) for i, args in enumerate(memory)]
    return json.dumps({"traceEvents": steps + operations + changes})


ALLOCATED = {"Addr": 64, "Bytes": 4096, "Device Id": -1, "Device Type": 0}
TOTALS = {"Total Allocated": 8192, "Total Reserved": 0}
ON_GPU = {"Device Id": 0, "Device Type": 1}


@pytest.mark.parametrize(
    ("memory", "peak"),
    [((), None), ((ALLOCATED,), None), ((ALLOCATED | TOTALS,), None), ((ALLOCATED | TOTALS | ON_GPU,), 8192)],
    ids=["no-memory", "no-totals", "totals-of-the-cpu", "totals"],
)
def test_a_peak_that_a_trace_does_not_tell_is_unknown(tmp_path, memory, peak):
    path = tmp_path / "trace.json"
    path.write_text(trace_with(*memory))
    assert imported(path)["memory"]["peakBytes"] == peak
    text = ridgeline("report", path).stdout
    assert re.search(r"peak memory +" + ("unknown" if peak is None else r"8\.00 KiB"), text), text
    assert ("MEMORY" in text) is bool(memory), text
    assert (" 0 B" in text) is bool(memory), text


def test_throughput_is_unknown_without_the_batch_size(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(trace_with())
    without, given = imported(path), imported(path, "--batch-size", "32")
    assert (without["entry"]["batchSize"], without["throughput"]["samplesPerSecond"]) == (None, None)
    assert without["models"]["time"]["samples"] == without["models"]["memory"]["samples"] == []
    assert given["entry"]["batchSize"] == 32
    assert given["throughput"]["samplesPerSecond"] == pytest.approx(32 / 0.001)
    text = ridgeline("report", path, "--warnings").stdout
    assert re.search(r"throughput +unknown", text), text
    assert "batch unknown" in text
    assert "samples/s" not in text
    assert "--batch-size N" in " ".join(text.split())
    for wrong in ("0", "-1", "1.5", "many", "99999999999"):
        assert ridgeline("report", path, "--batch-size", wrong).returncode == 2, wrong
