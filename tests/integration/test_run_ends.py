"""However a run ends, the daemon says how, with its documented exit code, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from conftest import BINARY, ENTRIES, ROOT, profile, ridgeline

GOOD = (ENTRIES / "layers" / "entry.py").read_text()


def processes_with(mark: str) -> list[int]:
    """Processes whose environment holds the mark: everything that a run of ours started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def assert_all_gone(mark: str) -> None:
    deadline = time.monotonic() + 30
    while processes_with(mark) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert processes_with(mark) == []


MISTAKES = {
    "missing provider": ("import torch\n", "provider-missing", "model_provider"),
    "misspelt provider": (
        GOOD.replace("def input_provider", "def inputs_provider"),
        "provider-missing",
        "Did you mean",
    ),
    "no default": (GOOD.replace("batch_size=256", "batch_size"), "batch-size-missing", "batch_size"),
    "zero": (GOOD.replace("batch_size=256", "batch_size=0"), "batch-size-invalid", "positive integer"),
    "bare tensor": (GOOD.replace("256),)", "256))"), "wrong-inputs", "bare tensor"),
    "no model": (GOOD.replace("return Tower()", "return 3"), "wrong-model", "torch.nn.Module"),
    "no step": (GOOD.replace("return iteration", "return None"), "wrong-iteration", "function"),
    "exception": (GOOD.replace("optimizer.step()", "raise ValueError('on purpose')"), "exception", "on purpose"),
    "syntax": ("def model_provider(:\n", "syntax-error", "SyntaxError"),
    "import": ("import no_such_module\n", "import-error", "no_such_module"),
    "sys.exit": ("import sys\nsys.exit(4)\n", "exit", "SystemExit"),
    "os._exit": ("import os\nos._exit(5)\n", "process-died", "exit code 5"),
    "segfault": ("import ctypes\nctypes.string_at(0)\n", "process-died", "signal 11"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(mistake: str, tmp_path: Path) -> None:
    source, kind, words = MISTAKES[mistake]
    entry = tmp_path / "entry.py"
    entry.write_text(source)
    mark = f"mark-{uuid.uuid4()}"
    done = ridgeline("profile", entry, "--python", sys.executable, "--time-budget", "0.2", MARK=mark)
    assert done.returncode == 1, done.stderr
    assert f"[{kind}]" in done.stderr
    assert words in done.stderr
    assert done.stdout == ""
    assert_all_gone(mark)


def test_an_exception_shows_the_users_line_and_not_ours(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(GOOD.replace("optimizer.step()", "raise ValueError('on purpose')"))
    done = ridgeline("profile", entry, "--python", sys.executable)
    line = 1 + entry.read_text().splitlines().index("        raise ValueError('on purpose')")
    assert done.stderr.splitlines()[-3].startswith(f"entry.py:{line}: error: ValueError: on purpose (batch size 256)")
    assert "ridgeline_runner" not in done.stderr


def test_out_of_memory_at_another_batch_size_is_an_observation(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(
        GOOD.replace(
            "return (torch.randn(batch_size, 256),)",
            "return (torch.randn(batch_size, 256 if batch_size < 1000 else 1 << 40),)",
        )
    )
    report = profile(entry, "--time-budget", "0.2", "--batch-sizes", "64,128,1000")
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
    report = profile(entry, "--time-budget", "0.2", "--memory-limit", "1GiB")
    assert {(s["batchSize"], s["kind"]) for s in report["skipped"]} == {(512, "out-of-memory"), (384, "out-of-memory")}
    assert [s["batchSize"] for s in report["models"]["time"]["samples"]] == [128, 192, 256]
    assert report["memory"]["capacityBytes"] == 1 << 30


def test_a_step_that_never_ends_is_stopped(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(GOOD.replace("optimizer.step()", "while True: pass"))
    mark = f"mark-{uuid.uuid4()}"
    done = ridgeline("profile", entry, "--python", sys.executable, "--time-limit", "8", MARK=mark)
    assert done.returncode == 1
    assert "[timeout]" in done.stderr
    assert_all_gone(mark)


def test_a_process_that_ignores_sigterm_and_leaves_children_is_ended(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    time.sleep(1000)\nprint('stuck', flush=True)\nwhile True: time.sleep(1000)\n"
    )
    mark = f"mark-{uuid.uuid4()}"
    done = ridgeline("profile", entry, "--python", sys.executable, "--time-limit", "8", MARK=mark)
    assert done.returncode == 1
    assert "[timeout]" in done.stderr and "stuck" in done.stderr
    assert_all_gone(mark)


def test_a_flood_of_output_is_bounded(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text("import os\nfor _ in range(3000): os.write(1, b'x' * 100_000)\nos._exit(9)\n")
    done = ridgeline("profile", entry, "--python", sys.executable)
    assert done.returncode == 1
    assert "exit code 9" in done.stderr
    assert len(done.stderr) < 200_000


STAGES = ["Importing torch", "Loading the entry point", "Recording batch size", "Timing the bare step"]


@pytest.mark.parametrize("stage", STAGES)
def test_cancel_at_every_stage(stage: str, tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(GOOD.replace("import torch\n", "import time, torch\ntime.sleep(0.5)\n", 1))
    mark = f"mark-{uuid.uuid4()}"
    process = subprocess.Popen(
        [BINARY, "profile", entry, "--python", sys.executable, "--batch-sizes", "256,512"],
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
    entry.write_text(GOOD.replace("optimizer.step()", "while True: pass"))
    mark = f"mark-{uuid.uuid4()}"
    process = subprocess.Popen(
        [BINARY, "profile", entry, "--python", sys.executable],
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


def test_no_torch_is_said_plainly(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S: no site-packages
    python.chmod(0o755)
    done = ridgeline("profile", ENTRIES / "layers" / "entry.py", "--python", python)
    assert done.returncode == 3
    assert "[no-torch]" in done.stderr and "--python" in done.stderr


TORCHES = [("2.3.1", "torch-unsupported", "too old"), ("2.99.0", "agent-build-failed", "not with torch 2.99.0")]


@pytest.mark.parametrize(("version", "kind", "words"), TORCHES)
def test_a_torch_that_cannot_be_used_is_said_plainly(version: str, kind: str, words: str, tmp_path: Path) -> None:
    torch = tmp_path / "modules" / "torch"
    torch.mkdir(parents=True)
    (torch / "__init__.py").write_text(f"__version__ = {version!r}\ndef compiled_with_cxx11_abi(): return True\n")
    entry = ENTRIES / "layers" / "entry.py"
    cache, modules = str(tmp_path / "cache"), str(tmp_path / "modules")
    done = ridgeline("profile", entry, "--python", sys.executable, RIDGELINE_CACHE=cache, PYTHONPATH=modules)
    assert done.returncode == 3
    assert f"[{kind}]" in done.stderr and words in done.stderr and "2.4 to 2.15" in done.stderr


def test_no_compiler_is_said_plainly(tmp_path: Path) -> None:
    done = ridgeline(
        "profile",
        ENTRIES / "layers" / "entry.py",
        "--python",
        sys.executable,
        RIDGELINE_CACHE=str(tmp_path / "cache"),
        PATH=str(tmp_path),
        CXX="",
    )
    assert done.returncode == 3
    assert "[no-compiler]" in done.stderr and "g++" in done.stderr


def test_a_missing_entry_is_a_usage_error(tmp_path: Path) -> None:
    done = ridgeline("profile", tmp_path / "none.py")
    assert done.returncode == 2
    assert "none.py" in done.stderr


def test_batch_sizes_that_fail_are_replaced(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text(
        GOOD.replace(
            "        optimizer.zero_grad()",
            "        assert 256 <= len(x) < 512, 'not this one'\n        optimizer.zero_grad()",
        )
    )
    report = profile(entry, "--time-budget", "0.2")
    assert [s["batchSize"] for s in report["skipped"]] == [128, 512, 192, 64]
    assert [s["batchSize"] for s in report["models"]["time"]["samples"]] == [256, 257, 384]


def test_an_agent_for_another_torch_is_refused(agent: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'profiler' / 'runner')!r})\n"
        "import torch; torch.__version__ = '9.9.9'\n"
        "from ridgeline_runner import warm\n"
        f"warm.load_agent({str(agent)!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is built for torch" in done.stderr and "9.9.9" in done.stderr
