"""`--device cpu`: code written for CUDA runs on the CPU unmodified; without the option, the failure names it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ENTRIES, PYTHON, ROOT, line_cost, profile, ridgeline

sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from ridgeline_runner.common.failure import describe

ENTRY = ENTRIES / "cuda" / "entry.py"
CODE = ROOT / "tests" / "integration" / "cuda_code.py"

needs_no_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")


def run_code(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", CODE, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def checks() -> dict[str, str | None]:
    return run_code()


@pytest.mark.parametrize("check", re.findall(r"^def (check_\w+)", CODE.read_text(), re.MULTILINE))
def test_stand_in(check: str, checks: dict[str, str | None]) -> None:
    assert checks[check] is None, checks[check]


def test_code_that_names_no_device_learns_the_same_to_the_bit() -> None:
    assert run_code("train", "stand-in") == {**run_code("train"), "inPlaceOf": ""}


def test_code_for_cuda_is_profiled_and_every_figure_labelled() -> None:
    report = profile(ENTRY, "--device", "cpu", "--seconds", "0.2")
    environment = report["environment"]
    assert (environment["device"], environment["inPlaceOf"]) == ("cpu", "cuda")
    assert sum("asks for CUDA and ran on the CPU" in warning for warning in report["warnings"]) == 1
    assert sum("float16 ran as bfloat16" in warning for warning in report["warnings"]) == 1
    made = line_cost(report, ENTRY, "made here")
    assert made["calls"] == 1
    assert made["timeMs"]["self"] > 0
    assert made["memoryBytes"]["atPeak"] == 4096 * 512 * 4
    assert {line["file"] for line in report["lines"]} == {str(ENTRY.relative_to(report["entry"]["projectRoot"]))}
    assert report["memory"]["byCategory"]["inputs"] == 16 * 3 * 16 * 16 * 4 + 16 * 8


@needs_no_cuda
def test_a_failure_of_code_for_cuda_names_the_option(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text("import torch\n\n\ndef model_provider():\n    return torch.nn.Linear(2, 2).cuda()\n")
    entry.write_text(entry.read_text() + "def input_provider(batch_size=2): ...\ndef iteration_provider(model): ...\n")
    done = ridgeline("profile", entry, "--python", PYTHON)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(said) == 1 and said[0].startswith("entry.py:5: error: AssertionError: Torch not compiled with CUDA")
    assert "`--device cpu`" in said[0] and said[0].endswith("[no-cuda]")


def test_another_device_is_a_usage_error() -> None:
    done = ridgeline("profile", ENTRY, "--device", "tpu")
    assert done.returncode == 2
    assert "--device" in done.stderr


# What the user's code does → the kind of failure that it is, at the line marked `# here`.
CAUSES = {
    "cuda": ("torch.ones(1).cuda()  # here", "no-cuda"),
    "to": ("DEVICE = 'cuda:0'\ntorch.ones(1).to(DEVICE)  # here", "no-cuda"),
    "constructor": ("torch.zeros(1, device='cuda')  # here", "no-cuda"),
    "query": ("torch.cuda.get_device_properties(0)  # here", "no-cuda"),
    "load": (
        "import io\nfile = io.BytesIO()\ntorch.save(torch.ones(1), file)\n"
        "torch.load(io.BytesIO(file.getvalue()), map_location='cuda')  # here",
        "no-cuda",
    ),
    "assert": ("assert torch.cuda.is_available()  # here", "no-cuda"),
    "exit after a guard": ("if not torch.cuda.is_available():\n    sys.exit(1)  # here", "no-cuda"),
    "exit in the other branch": ("if torch.cuda.is_available():\n    pass\nelse:\n    exit()  # here", "no-cuda"),
    "exit with a message": ("sys.exit('no GPU found')  # here", "no-cuda"),
    "raise after a guard": (
        "if torch.cuda.device_count() < 1:\n    print('x')\n    raise RuntimeError('too few')  # here",
        "no-cuda",
    ),
    "arithmetic": ("size = 32 // torch.cuda.device_count()  # here", "no-cuda"),
    "exit": ("sys.exit(1)  # here", "exit"),
    "another exception": ("torch.ones(2) @ torch.ones(3)  # here", "exception"),
    "another exception in a guard": (
        "if not torch.cuda.is_available():\n    torch.ones(2) @ torch.ones(3)  # here",
        "exception",
    ),
    "another raise": ("if len(sys.argv) > 100 or True:\n    raise ValueError('no')  # here", "exception"),
    "import": ("import no_such_cuda_package  # here", "import-error"),
}


@needs_no_cuda
@pytest.mark.parametrize("cause", CAUSES)
def test_missing_cuda_is_known_by_its_cause(cause: str, tmp_path: Path) -> None:
    source, kind = CAUSES[cause]
    file = tmp_path / "entry.py"
    file.write_text(f"import sys\nimport torch\n{source}\n")
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - each its own
        exec(compile(file.read_text(), str(file), "exec"), {})  # noqa: S102
    message = describe(caught.value, "load")
    assert message["kind"] == kind
    assert ("`--device cpu`" in message["message"]) == (kind == "no-cuda")
    own = [frame for frame in message["frames"] if frame["file"] == str(file)]
    assert own[-1]["text"].endswith("# here")
