"""What the integration tests share: the real binary, the real interpreter, one cache, one profile per entry.

`pytest -n 3` runs them in three processes, each with all tests of a file, or of an example, so that nothing is profiled
twice. Tests marked `quiet` compare times: `./dev test` leaves them out there, and runs them afterwards with nothing
beside them. Tests marked `long` have quicker ones of the same kind beside them: `./dev test --all` runs them too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("RIDGELINE_BINARY", ROOT / "build" / "bin" / "ridgeline"))
ENTRIES = ROOT / "tests" / "data" / "entries"
# Where it can, in a process that is forked from one that has torch imported: tests/forkserver.
# What a profile does not use either: graphs that torch.compile keeps from one process to the next.
NO_GRAPH_CACHES = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
PYTHON = os.environ.get("RIDGELINE_FORKED_PYTHON", sys.executable)
sys.path.append(str(ROOT / "tests" / "remote"))  # another machine, for who asks for one
from processes import processes_with  # noqa: E402

# All examples but a small one are sampled below their own batch size, or little above: by default it is doubled too.
SMALLER_BATCHES = {
    "a3c": "4,8",
    "bert": "1,3",
    "char_rnn": "4,8",
    "checkpointed": "1,3",
    "compiled": "4,6",
    "custom_function": "1,2",
    "dataloader": "16,32",
    "dcgan": "2,3",
    "deepspeech": "1,3",
    "densenet121": "1,3",
    "efficientdet": "1,3",
    "gnmt": "1,2",
    "gpt": "1,3",
    "inception": "1,2",
    "lstm_accumulate": "4,8",
    "maskrcnn": "1,3",
    "minigo": "4,6",
    "resnet50": "1,2",
    "scheduled_sampling": "2,8",
    "transformer": "1,2",
    "vgg11": "1,3",
    "wgan": "1,2",
}
# Attempts at a check that compares times.
ATTEMPTS = 4


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "quiet: compares times, so nothing may run beside it")
    config.addinivalue_line("markers", "long: takes long, and has a quicker test of the same kind beside it")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before tests begin in several processes: one of them builds the agent, not each."""
    if session.config.getoption("numprocesses", None):
        ridgeline("doctor", "--python", PYTHON)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Which tests go to the same process."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            if "test_faults" in file:
                return nodeid
            example = re.search(r"\[(\w+)", test) if "test_example" in file else None
            return example[1] if example else file

    return Scheduling(config, log)


def ridgeline(*arguments: str | Path, timeout: float = 900, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the binary to its end."""
    return subprocess.run(
        [str(BINARY), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        check=False,
    )


def profile(entry: Path, *arguments: str, **environment: str) -> dict[str, Any]:
    """The JSON report of an entry point; fails the test with the daemon's own words when there is none."""
    done = ridgeline("profile", entry, "--python", PYTHON, "--format", "json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def eventually(check: Callable[[], None]) -> None:
    """Passes when one of a few attempts does."""
    for attempt in range(ATTEMPTS):
        try:
            check()
            return
        except AssertionError:
            if attempt == ATTEMPTS - 1:
                raise


def assert_all_gone(mark: str) -> None:
    deadline = time.monotonic() + 30
    while processes_with(mark) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert processes_with(mark) == []


LINEAR_ENTRY = """import torch


def model_provider():
    return torch.nn.Linear(512, 256)


def input_provider(batch_size=16):
    return (torch.randn(batch_size, 512),)


def iteration_provider(model):
    def iteration(x):
        model(x).sum().backward()

    return iteration
"""


@pytest.fixture
def linear_entry(tmp_path: Path) -> Path:
    path = tmp_path / "entry.py"
    path.write_text(LINEAR_ENTRY)
    return path


@pytest.fixture(scope="session")
def schema() -> dict[str, Any]:
    return json.loads((ROOT / "protocol" / "report.schema.json").read_text())


def prediction_validator() -> Draft202012Validator:
    """For protocol/prediction.schema.json, which refers to the report's schema."""
    names = ("prediction.schema.json", "report.schema.json")
    schemas = [json.loads((ROOT / "protocol" / name).read_text()) for name in names]
    registry = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in schemas)
    return Draft202012Validator(schemas[0], registry=registry)


@pytest.fixture(scope="session")
def example_report() -> Callable[[str], dict[str, Any]]:
    """Reports of examples/, each profiled once, with a time budget that suits sums and counts, not tight figures."""
    reports: dict[str, dict[str, Any]] = {}

    def report(name: str) -> dict[str, Any]:
        if name not in reports:
            sizes = ("--batch-sizes", SMALLER_BATCHES[name]) if name in SMALLER_BATCHES else ()
            reports[name] = profile(ROOT / "examples" / name / "entry.py", "--seconds", "1", *sizes)
        return reports[name]

    return report


def line_of(file: Path, mark: str) -> int:
    """The number of the one line of a file that ends with the comment `# mark`."""
    lines = [i for i, text in enumerate(file.read_text().splitlines(), 1) if text.rstrip().endswith(f"# {mark}")]
    assert len(lines) == 1, f"{file} has {len(lines)} lines marked {mark}"
    return lines[0]


def line_cost(report: dict[str, Any], file: Path, mark: str) -> dict[str, Any]:
    """The row of the report for the marked line."""
    wanted = (str(file.relative_to(report["entry"]["projectRoot"])), line_of(file, mark))
    rows = [row for row in report["lines"] if (row["file"], row["line"]) == wanted]
    assert len(rows) == 1, f"no single row for {wanted}"
    return rows[0]


AGENT_PATH_ENTRY = """\
import pathlib, sys

pathlib.Path(__file__).with_name("agent").write_text(sys.modules["_ridgeline_agent"].__file__)
model_provider = input_provider = iteration_provider = None  # a file that lacks one is not run
raise SystemExit
"""


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent of this interpreter, in the cache: built, unless it is there, for an entry that names its file."""
    entry = tmp_path_factory.mktemp("agent") / "entry.py"
    entry.write_text(AGENT_PATH_ENTRY)
    ridgeline("profile", entry, "--python", PYTHON)
    return Path(entry.with_name("agent").read_text())
