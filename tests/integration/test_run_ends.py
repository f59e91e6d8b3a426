"""However a run ends, the daemon says how, with its documented exit code, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from pathlib import Path

import pytest
from conftest import BINARY, ENTRIES, PYTHON, ROOT, assert_all_gone, profile, ridgeline

GOOD = (ENTRIES / "layers" / "entry.py").read_text()


def test_out_of_memory_at_another_batch_size_is_an_observation(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(
        GOOD.replace(
            "return (torch.randn(batch_size, 256),)",
            "return (torch.randn(batch_size, 256 if batch_size < 1000 else 1 << 40),)",
        )
    )
    report = profile(entry, "--seconds", "0.2", "--batch-sizes", "64,128,1000")
    assert [(s["batchSize"], s["kind"]) for s in report["skipped"]] == [(1000, "out-of-memory")]
    assert [s["batchSize"] for s in report["models"]["time"]["samples"]] == [64, 128, 256]


def test_a_memory_limit_is_kept(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(
        GOOD.replace(
            "return (torch.randn(batch_size, 256),)",
            "return (torch.randn(batch_size, 256 if batch_size < 300 else 1 << 20),)",
        )
    )
    report = profile(entry, "--seconds", "2", "--memory-limit", "1GiB")
    assert {(s["batchSize"], s["kind"]) for s in report["skipped"]} == {(512, "out-of-memory"), (384, "out-of-memory")}
    assert [s["batchSize"] for s in report["models"]["memory"]["samples"]] == [128, 192, 256]  # those recorded
    timed = {s["batchSize"] for s in report["models"]["time"]["samples"]}  # others, too, where there is time left
    assert timed >= {128, 192, 256} and max(timed) == 256
    assert report["memory"]["capacityBytes"] == 1 << 30


# A step of 4 KiB for each sample, and of no speed: it counts what it was asked to run.
HUGE = """\
import torch


def model_provider():
    return torch.nn.Linear(1024, 4)


def input_provider(batch_size=2_000_000):
    return (torch.empty(batch_size, {inputs}),)


def iteration_provider(model):
    def iteration(x):
        open({log!r}, "a").write(f"{{len(x)}}\\n")
        model(torch.ones(len(x), 1024)).sum().backward()

    return iteration
"""


@pytest.mark.long
@pytest.mark.parametrize("inputs", [1, 64])
def test_a_batch_that_cannot_fit_is_left_for_one_that_does(inputs: int, tmp_path: Path) -> None:
    entry, log = tmp_path / "entry.py", tmp_path / "log"
    entry.write_text(HUGE.format(inputs=inputs, log=str(log)))
    report = profile(entry, "--seconds", "0.1", "--memory-limit", "2GiB")
    ran = [int(size) for size in log.read_text().split()]
    assert not {2_000_000, 1_000_000} & set(ran)  # the first of its halves needs 4 GiB
    assert ran[0] == 2  # small batch sizes tell
    size = report["entry"]["batchSize"]
    assert 125_000 <= size <= 250_000
    warning = next(text for text in report["warnings"] if "does not fit" in text)
    assert "the limit is 2 GiB" in warning and f"These figures are of batch size {size}" in warning


def test_another_batch_size_that_cannot_fit_is_not_run(tmp_path: Path) -> None:
    entry, log = tmp_path / "entry.py", tmp_path / "log"
    entry.write_text(HUGE.format(inputs=64, log=str(log)).replace("=2_000_000", "=64"))
    report = profile(entry, "--seconds", "0.1", "--memory-limit", "2GiB", "--batch-sizes", "64,128,2000000")
    assert "2000000\n" not in log.read_text()
    assert [(s["batchSize"], s["kind"]) for s in report["skipped"]] == [(2_000_000, "out-of-memory")]
    assert "was not run" in report["skipped"][0]["message"]


def test_a_process_that_ignores_sigterm_and_leaves_children_is_ended(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    time.sleep(1000)\nprint('stuck', flush=True)\nwhile True: time.sleep(1000)\n"
        "model_provider = input_provider = iteration_provider = None\n"
    )
    mark = f"mark-{uuid.uuid4()}"
    for limit in ("8", "40"):  # a busy machine may need longer before the code runs
        done = ridgeline("profile", entry, "--python", PYTHON, "--timeout", limit, MARK=mark)
        if "stuck" in done.stderr:
            break
    assert done.returncode == 1
    assert "[timeout]" in done.stderr and "stuck" in done.stderr
    assert_all_gone(mark)


STAGES = ["Importing torch", "Loading the entry point", "Recording batch size", "Timing the bare step"]


@pytest.mark.parametrize("stage", STAGES)
def test_cancel_at_every_stage(stage: str, tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(GOOD.replace("import torch\n", "import time, torch\ntime.sleep(0.5)\n", 1))
    mark = f"mark-{uuid.uuid4()}"
    process = subprocess.Popen(
        [BINARY, "profile", entry, "--python", PYTHON, "--batch-sizes", "256,512"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "MARK": mark},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(stage):
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait(timeout=60) == 130
    assert "[cancelled]" in rest
    assert_all_gone(mark)


def test_killing_the_daemon_leaves_no_process(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    flee = "import os\n        if os.fork() == 0: os.setsid()\n        while True: pass"
    entry.write_text(GOOD.replace("optimizer.step()", flee))
    mark = f"mark-{uuid.uuid4()}"
    process = subprocess.Popen(
        [BINARY, "profile", entry, "--python", PYTHON],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "MARK": mark},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("Recording"):
            process.kill()
            break
    process.wait()
    assert_all_gone(mark)


def test_batch_sizes_that_fail_are_replaced(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(
        GOOD.replace(
            "        optimizer.zero_grad()",
            "        assert 256 <= len(x) < 512, 'not this one'\n        optimizer.zero_grad()",
        )
    )
    report = profile(entry, "--seconds", "0.2")
    assert [s["batchSize"] for s in report["skipped"]] == [128, 512, 192, 64]
    assert [s["batchSize"] for s in report["models"]["time"]["samples"]] == [256, 257, 384]


def test_a_report_goes_into_a_pipe_and_does_not_replace_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        entry = ENTRIES / "layers" / "entry.py"
        arguments = ("--seconds", "0.1", "--batch-sizes", "64", "--output", pipe)
        done = ridgeline("profile", entry, "--python", PYTHON, *arguments)
        assert done.returncode == 0, done.stderr
        assert reader.stdout is not None and "throughput" in reader.stdout.read()
    assert pipe.is_fifo()


def test_an_agent_for_another_torch_is_refused(agent: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'profiler' / 'runner')!r})\n"
        "import torch; torch.__version__ = '9.9.9'\n"
        "from ridgeline_runner.machine import interpreter\n"
        f"interpreter.load_agent({str(agent)!r})\n"
    )
    done = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is built for torch" in done.stderr and "9.9.9" in done.stderr
