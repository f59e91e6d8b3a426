"""Reports against torch's own instruments on the same step, and against what the operating system says of it.

Each example runs at a small batch size, on one thread: on a machine that is busy with something else, threads that
wait for each other make a step many times as slow.

Not here: the peak by the profiler's memory events, which is in test_examples.py; and FLOPs, which no report has.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT, eventually, profile

BATCH_SIZES = {"mlp": 64, "lstm_accumulate": 4, "checkpointed": 1, "resnet50": 1}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
MIB = 2**20

# Autograd nodes by the operation that makes them, where it takes a while in the examples whose times are compared.
MADE_BY = {
    "AddmmBackward0": "linear",
    "ConvolutionBackward0": "conv2d",
    "EmbeddingBackward0": "embedding",
    "LogSoftmaxBackward0": "cross_entropy_loss",
    "MkldnnRnnLayerBackward0": "lstm",
    "MmBackward0": "linear",
    "NativeBatchNormBackward0": "batch_norm",
    "NllLossBackward0": "cross_entropy_loss",
    "ReluBackward0": "relu",
    "TBackward0": "linear",
}
# The part of the time of all operations from which on one is compared: in less, the profiler's own cost shows.
HEAVY = 0.03
TOLERANCE = 0.03

# An entry file beside that of an example: its step, observed by torch.profiler too.
OBSERVED_ENTRY = """
import entry
from entry import input_provider, model_provider
from observe_step import under_profiler

def iteration_provider(model):
    return under_profiler(entry.iteration_provider(model))
"""


class Example:
    """A copy of an example, with its batch size here as its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder / name
        self.batch_size = str(BATCH_SIZES[name])
        shutil.copytree(ROOT / "examples" / name, self.folder)
        entry = self.folder / "entry.py"
        source, changed = re.subn(r"(?<=batch_size: int = )\d+", self.batch_size, entry.read_text())
        assert changed == 1
        entry.write_text(source)
        (self.folder / "observed.py").write_text(OBSERVED_ENTRY)

    def profile(self, file: str, **environment: str) -> dict[str, Any]:
        arguments = ("--batch-sizes", self.batch_size, "--seconds", "0.1")
        return profile(self.folder / file, *arguments, **ONE_THREAD, **environment)

    @functools.cached_property
    def compared(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Its report, and what the instruments saw. At once: counts and bytes do not depend on what else runs."""
        script = Path(__file__).with_name("observe_step.py")
        with subprocess.Popen(
            [PYTHON, script, self.folder / "entry.py", self.batch_size, "calls", "tensors", "resident"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD},
        ) as observer:
            report = self.profile("entry.py")
            seen, errors = observer.communicate()
        assert observer.returncode == 0, errors
        return report, json.loads(seen.splitlines()[-1])


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Example]:
    folder = tmp_path_factory.mktemp("cross_checks")
    return functools.cache(lambda name: Example(name, folder))


Examples = Callable[[str], Example]
long = pytest.mark.long
LONG = [pytest.param(each, marks=long) for each in BATCH_SIZES if each != "mlp"]
every_example = pytest.mark.parametrize("name", ["mlp", *LONG])


# ---- calls -----------------------------------------------------------------------------------------------------------


def leaves(node: dict[str, Any], module: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """What the breakdown has inside modules and groups, each with the full name of the module that it is in."""
    for child in node["children"]:
        if child["type"]:
            yield from leaves(child, f"{module}.{child['name']}" if module else child["name"])
        elif child["children"]:
            yield from leaves(child, module)
        else:
            yield module, child


def calls_of(report: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Module → operation → calls. Python between operations and blocks of memory have none."""
    counts: dict[str, Counter[str]] = {}
    for module, leaf in leaves(report["breakdown"]):
        if leaf["calls"]:
            counts.setdefault(module, Counter())[leaf["name"]] += leaf["calls"]
    return {module: dict(of) for module, of in counts.items()}


@every_example
def test_calls_of_operations_are_those_that_the_profiler_counts(name: str, example: Examples) -> None:
    """Exactly, operation by operation and module by module, in one iteration.

    A report counts what the step called: the outermost operations, those of the optimizer and of recomputed forwards
    included, without what the engine runs for autograd nodes. The profiler sees all operations as a tree, in which
    these are the ones right under a range; ranges name the modules.
    """
    report, seen = example(name).compared
    assert calls_of(report) == seen["calls"]


# ---- times -----------------------------------------------------------------------------------------------------------


def reported_ms(report: dict[str, Any]) -> Counter[tuple[str, str]]:
    """What operations took in the recorded iterations, in forward (the optimizer's included) and backward."""
    total: Counter[tuple[str, str]] = Counter()
    for _, leaf in leaves(report["breakdown"]):
        if leaf["name"] not in ("Python", "end of the iteration"):
            ms = {phase: ms / report["closure"]["scale"] for phase, ms in leaf["byPhaseMs"].items()}
            backward = ms.pop("backward")
            total["backward", leaf["name"].rstrip("_")] += backward
            total["forward", leaf["name"].rstrip("_")] += sum(ms.values())
    return total


def observed_ms(iterations: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """The same by the profiler: the mean of the iterations. Nodes that are not in MADE_BY keep their names."""
    total: Counter[tuple[str, str]] = Counter()
    for iteration in iterations:
        for name, ms in iteration["operations"].items():
            total["forward", name.rstrip("_")] += ms / len(iterations)
        for name, ms in iteration["nodes"].items():
            total["backward", MADE_BY.get(name, name)] += ms / len(iterations)
    return total


def used_iterations(report: dict[str, Any], runs: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The runs that the report is made of: of those recorded, the third whose durations lie in the middle.

    The report says how many it used, not how many it recorded: each number that fits is tried.
    """
    first, used = report["iteration"]["warmupIterations"], report["closure"]["recordedIterations"]
    for count in range(2, 3 * used + 1):
        if count - 2 * (count // 3) == used:
            by_length = sorted(runs[first : first + count], key=lambda run: run["wholeMs"])
            yield by_length[count // 3 : count - count // 3]


@pytest.mark.parametrize(
    "name", ["mlp", pytest.param("lstm_accumulate", marks=long), pytest.param("resnet50", marks=long)]
)
def test_times_of_operations_are_those_that_the_profiler_takes(name: str, example: Examples, tmp_path: Path) -> None:
    """Within 3 %, in forward and in backward, for each operation that takes at least 3 % of the time there is.

    torch.profiler runs inside of the step that Ridgeline records: both time the same iterations, and a machine that is
    slow for a moment is slow for both. Compared are milliseconds of the iterations that the report is made of, before
    they were scaled to the bare iteration time. So shares agree, too.

    Backward of an operation goes by the class of the autograd nodes here, by sequence numbers in a report.
    Recomputation has no example here: to the profiler it is a part of the node that asks for it.

    Differences remain: each instrument sees what the other costs inside of an operation, and the machine may turn to
    something else between the moments at which the two look at the clock, which is what the attempts are for.
    """
    attempts = (tmp_path / f"attempt{number}" for number in range(10))

    def check() -> None:
        file = next(attempts)
        report = example(name).profile(
            "observed.py", RIDGELINE_TEST_TIMES=str(file), PYTHONPATH=str(Path(__file__).parent)
        )
        runs = [json.loads(line) for line in file.read_text().splitlines()]
        reported = reported_ms(report)
        candidates = [observed_ms(iterations) for iterations in used_iterations(report, runs)]
        heavy = [key for key, ms in reported.items() if ms >= HEAVY * reported.total()]
        assert sum(reported[key] for key in heavy) > 0.8 * reported.total()

        def differences(observed: Counter[tuple[str, str]]) -> dict[tuple[str, str], float]:
            keys = {*heavy, *(key for key, ms in observed.items() if ms >= HEAVY * observed.total())}
            return {key: reported[key] / observed[key] - 1 if observed[key] else float("inf") for key in keys}

        best = min(map(differences, candidates), key=lambda found: max(map(abs, found.values())))
        assert {key: value for key, value in best.items() if abs(value) > TOLERANCE} == {}

    eventually(check)


# ---- memory ----------------------------------------------------------------------------------------------------------


@every_example
def test_the_peak_is_that_of_the_tensors_and_of_what_kernels_need(name: str, example: Examples) -> None:
    """MemTracker counts the storages of all tensors that pass the dispatcher: on the CPU to the byte, not rounded.

    It looks when an operation has returned. What a kernel allocates for itself, such as the workspace of a convolution,
    it never sees; a report has that among the temporaries. So the tracker's peak is the lower one, by no more than the
    temporaries are. A perceptron's operations need nothing of the kind: there the two are equal.

    Weights and the optimizer's state are equal everywhere; the state as the tracker has it between iterations, since
    within the optimizer's step all that it computes is state to it. The tracker's other kinds are not comparable: a
    gradient, for one, is temporary to it until a hook has seen it.
    """
    report, seen = example(name).compared
    memory, categories = report["memory"], report["memory"]["byCategory"]
    before, peak = seen["tensors"]["before"], seen["tensors"]["peak"]
    assert categories["weights"] == before["Parameter"] + before["Buffer"] == peak["Parameter"] + peak["Buffer"]
    assert categories["optimizerState"] == before["Optstate"]
    assert memory["peakBytes"] - categories["temporaries"] <= peak["Total"] <= memory["peakBytes"]
    if name == "mlp":
        assert peak["Total"] == memory["peakBytes"]


@every_example
def test_a_process_grows_by_the_peak(name: str, example: Examples) -> None:
    """The system gives a plain process that runs the step as much memory as the report says, within a few percent.

    Not less: whatever is alive at once and was written to is resident at once. 2 % may be asked for and never written
    to, and 1 MiB of small blocks may lie where the imports had some that are gone.

    Not much more: the process has the C library take each block beyond 64 KiB from the system and give it back when it
    is released, so that no fragments count. What is not the allocator's does: Python's objects, oneDNN's kernels and
    caches (2 % and 8 MiB). Pages of files do not: libraries are read in while the step runs.
    """
    report, seen = example(name).compared
    peak = report["memory"]["peakBytes"]
    assert 0.98 * peak - 1 * MIB <= seen["resident"] <= 1.02 * peak + 8 * MIB
