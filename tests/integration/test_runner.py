"""The runner's own decisions: when a step is warm, how well its time is known, what an entry point may return."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "profiler" / "runner"))

import torch
from ridgeline_runner import fork_server
from ridgeline_runner.changes import built_in, trial
from ridgeline_runner.common import dynamo, timing
from ridgeline_runner.common.channel import ChannelClosed
from ridgeline_runner.common.deadline import Deadline
from ridgeline_runner.common.failure import Failure, is_out_of_memory
from ridgeline_runner.common.sources import imported_files
from ridgeline_runner.machine import interpreter
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.machine.machine_limits import MachineLimits, machine_limits
from ridgeline_runner.machine.processors import Usage, others_used
from ridgeline_runner.script.held_requests import HeldStorages, with_held
from ridgeline_runner.step.batch_sizes import candidates
from ridgeline_runner.step.entry import EntryPoint, tensors_in
from ridgeline_runner.step.fitting import Growth, MemoryFit, find_growth, first_half_within
from ridgeline_runner.step.fresh_process import time_rounds
from ridgeline_runner.step.recorder import class_lines
from ridgeline_runner.step.rounds import rounds_done
from ridgeline_runner.step.samples import MIN_ROUNDS, Sampled, due, recorded_iterations
from ridgeline_runner.step.training_step import TrainingStep


def test_progress_waits_for_the_rounds_however_long_they_take() -> None:
    sampled = [Sampled(8), Sampled(16)]
    assert rounds_done(sampled) == 0
    for done in range(1, MIN_ROUNDS + 1):
        sampled[0].round_medians_ns.append(1.0)
        assert rounds_done(sampled) == done / (2 * MIN_ROUNDS)
    sampled[0].round_medians_ns.append(1.0)
    sampled[1].round_medians_ns += [1.0] * MIN_ROUNDS
    assert rounds_done(sampled) == 1


@pytest.mark.parametrize(
    ("times", "warm"),
    [
        ([], False),
        ([5, 5], False),
        ([90, 50, 50], True),
        ([90, 50, 60], False),
        ([90, 50, 60, 51, 52], True),
        ([10, 10, 10], True),
    ],
)
def test_warm_when_the_last_two_are_near_the_fastest(times: list[int], warm: bool) -> None:
    assert timing.is_warm(times) is warm


@pytest.mark.parametrize(("times", "warm"), [([5], False), ([90, 50], True), ([50, 60], False), ([50, 60, 51], True)])
def test_warm_after_two_when_the_step_has_run_at_another_batch_size(times: list[int], warm: bool) -> None:
    assert timing.is_warm(times, least=2) is warm


@pytest.mark.parametrize(("first", "runs"), [(True, 2), (False, 1)])
def test_a_slow_step_is_warm_soon(first: bool, runs: int) -> None:
    step = TrainingStep(None, time.sleep, Device())  # type: ignore[arg-type]
    assert len(step.warm_up((0.26,), first=first)) == runs


def compiling(monkeypatch: pytest.MonkeyPatch, count: int) -> TrainingStep:
    """A step whose iterations all take as long, and in whose first `count` runs torch.compile compiles."""
    runs = iter(range(1, 1000))
    compiled = 0

    def step() -> None:
        nonlocal compiled
        compiled = min(next(runs), count)

    class Even(TrainingStep):
        def times(self, inputs: tuple[Any, ...], count: int) -> list[int]:
            return [1000 for _ in super().times(inputs, count)]

    monkeypatch.setattr(dynamo, "_compilations", lambda: compiled)
    return Even(None, step, Device())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "count", "iterations", "unsettled"),
    [(True, 0, 3, 0), (True, 8, 10, 0), (True, 999, 20, 20), (False, 0, 2, 0), (False, 8, 10, 0), (False, 999, 20, 20)],
)
def test_a_step_warms_up_until_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, first: bool, count: int, iterations: int, unsettled: int
) -> None:
    step = compiling(monkeypatch, count)
    assert len(step.warm_up((), first=first)) == iterations
    assert step.unsettled_steps == unsettled


@pytest.mark.parametrize(("count", "iterations"), [(0, 4), (8, 10), (999, 20)])
def test_a_process_of_its_own_warms_up_until_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, count: int, iterations: int
) -> None:
    step = compiling(monkeypatch, count)
    measured = time_rounds(lambda runs: step.times((), runs), rounds=1, budget_seconds=1, per_round=1)
    assert len(measured["warmupNs"]) == iterations
    assert measured["hasSettled"] is (count < 999)


@pytest.mark.parametrize(("last", "settles"), [(0, True), (8, True), (999, False)])
def test_a_trial_says_which_step_compiles_while_it_is_timed(
    monkeypatch: pytest.MonkeyPatch, last: int, settles: bool
) -> None:
    steps = iter([lambda: None, compiling(monkeypatch, last).function])

    def build(*_: object) -> SimpleNamespace:
        return SimpleNamespace(function=next(steps), inputs=(), models=(), surroundings=nullcontext)

    monkeypatch.setattr(built_in, "build", build)
    entry = SimpleNamespace(batch_size=1)
    tried = trial._timed(trial._Side(entry, []), trial._Side(entry, ["x"]), 0.001)  # type: ignore[arg-type]
    assert tried["unchangedUnsettledSteps"] == 0
    assert tried["changedUnsettledSteps"] == 0 if settles else tried["changedUnsettledSteps"] > 20


def test_a_warm_up_ends_early_where_the_run_has_no_time_for_what_follows() -> None:
    step = TrainingStep(None, time.sleep, Device())  # type: ignore[arg-type]
    assert len(step.warm_up((0.1,), first=True, run_deadline=Deadline(0.3))) == 1
    assert len(step.warm_up((0.01,), first=True, run_deadline=Deadline(60))) > 1


def test_what_a_deadline_leaves_out_is_named_once() -> None:
    deadline = Deadline(10)
    assert deadline.allows(9) and not deadline.allows(10) and deadline.warning() == ""
    for what in ("batch sizes other than 8", "how often each line runs", "batch sizes other than 8"):
        deadline.leave_out(what)
    assert deadline.warning() == (
        "To end within 10 s, this profile leaves out batch sizes other than 8; how often each line runs."
    )
    assert Deadline().allows(1e9) and Deadline(0).allows(1e9)


@pytest.mark.parametrize(("seconds", "count"), [(0.01, 30), (0.1, 10), (0.249, 5), (0.5, 2), (3.0, 2)])
def test_a_slow_step_is_recorded_twice(seconds: float, count: int) -> None:
    assert recorded_iterations(Sampled(8, warmup_ns=[round(1e9 * seconds)]), 10, chosen=True) == count


@pytest.mark.parametrize(("count", "ranks"), [(5, None), (6, (0, 5)), (9, (1, 7)), (20, (5, 14))])
def test_interval_of_the_median_by_ranks(count: int, ranks: tuple[int, int] | None) -> None:
    assert timing.median_interval_ranks(count) == ranks


@pytest.mark.parametrize("count", [499, 501, 1023, 1024, 5000, 10_000_000])
def test_interval_of_the_median_of_many(count: int) -> None:
    """Its ends lie two standard deviations of the binomial from the middle: more values than a float's exponent."""
    low, high = timing.median_interval_ranks(count) or (0, 0)
    assert low + high == count - 1
    assert 1.96 <= (count / 2 - low) / (math.sqrt(count) / 2) <= 1.96 + 4 / math.sqrt(count)


def test_interval_of_the_median_holds_it_as_often_as_it_says() -> None:
    generator = random.Random(1)
    held = 0
    for _ in range(2000):
        values = sorted(generator.expovariate(1) for _ in range(15))
        low, high = timing.median_interval_ranks(15) or (0, 0)
        held += values[low] <= math.log(2) <= values[high]
    assert held / 2000 >= 0.95


def test_width_is_infinite_while_unknown() -> None:
    assert timing.relative_half_width([1.0, 1.0]) == math.inf
    assert timing.relative_half_width([1.0] * 6) == 0


@pytest.mark.parametrize("chosen", [1, 2, 3, 64])
def test_batch_size_candidates_are_other_positive_sizes(chosen: int) -> None:
    sizes = candidates(chosen)
    assert len(set(sizes)) == len(sizes) >= 3
    assert all(size >= 1 and size != chosen for size in sizes)


def test_a_slow_step_is_sampled_below_its_batch_size() -> None:
    assert candidates(64)[:2] == [32, 128]
    assert candidates(64, slow=True)[:2] == [32, 16]
    assert candidates(3, slow=True)[:2] == [1, 2]


def test_growth_is_looked_for_where_the_batch_decides() -> None:
    ran = []

    def peak_of(size: int) -> int:
        ran.append(size)
        return max(1000, 500 + 10 * size)  # below 50 samples the optimizer's memory is the peak

    growth = find_growth(peak_of, below=2_000_000)
    assert growth == Growth(64, 1140, 128, 1780)
    assert ran == [2, 4, 8, 16, 32, 64, 128]
    assert growth.bytes_at(2_000_000) == 20_000_500
    assert growth.largest_within(20_000_500) == 2_000_000
    assert growth.largest_within(20_000_499) == 1_999_999
    assert growth.largest_within(400) == 0


@pytest.mark.parametrize("below", [1, 2, 4, 100])
def test_growth_is_never_looked_for_at_what_did_not_fit(below: int) -> None:
    ran = []
    assert find_growth(lambda size: ran.append(size) or 7, below) is None
    assert all(size < below for size in ran)


@pytest.mark.parametrize(("largest", "size"), [(40, 32), (32, 32), (31, 16), (1, 1), (0, 1), (1000, 32)])
def test_the_first_half_that_is_predicted_to_fit(largest: int, size: int) -> None:
    assert first_half_within(64, largest) == size


GIB = 1 << 30


def fit_after(peak_of: Callable[[int], int], *, below: int = 4096, limit_bytes: int = GIB) -> MemoryFit:
    fit = MemoryFit(Device(), limit_bytes)
    fit.search(peak_of, below)
    return fit


def test_without_a_prediction_nothing_is_refused() -> None:
    fit = MemoryFit(Device(), GIB)
    assert not fit.has_searched
    fit.check(1 << 24)
    assert fit.first_half(64) == 32
    assert fit.describe(64) == ""


def test_what_lies_clearly_beyond_the_limit_is_refused() -> None:
    fit = fit_after(lambda size: size * (GIB // 1024))
    fit.check(4)  # it has run
    fit.check(1280)  # by a quarter: another algorithm may need less
    with pytest.raises(Failure, match="Batch size 1281 was not run: by batch sizes 2 and 4") as caught:
        fit.check(1281)
    assert caught.value.kind == "out-of-memory"
    assert "it needs 2 GiB, the limit is 1 GiB" in fit.describe(2048)


def test_without_a_limit_nothing_is_refused() -> None:
    fit_after(lambda size: size * GIB, limit_bytes=0).check(4096)


def test_the_process_itself_takes_room_too() -> None:
    """64 MiB would do for 64 samples, if Python and torch did not have more than that already."""
    mebibytes = [64, 640 * 1024]
    halves = [fit_after(lambda size: size << 20, limit_bytes=limit << 20).first_half(128) for limit in mebibytes]
    assert halves == [1, 64]


def test_memory_is_searched_once_and_a_failure_ends_it() -> None:
    ran = []

    def fails(size: int) -> int:
        ran.append(size)
        raise SystemExit

    fit = fit_after(fails)
    assert fit.has_searched
    fit.search(fails, 4096)
    assert ran == [2]
    assert fit.first_half(64) == 32


def test_a_lost_channel_ends_the_search_and_the_run() -> None:
    def lost(size: int) -> int:
        raise ChannelClosed

    with pytest.raises(ChannelClosed):
        fit_after(lost)


def test_large_inputs_are_a_reason_to_search() -> None:
    inputs = (torch.zeros(1024), {"more": torch.zeros(1024)})  # 8 KiB
    assert MemoryFit(Device(), 64 * 8192 - 1).should_search(inputs)
    assert not MemoryFit(Device(), 64 * 8192).should_search(inputs)
    assert not MemoryFit(Device(), 0).should_search(inputs), "no limit is known"
    searched = MemoryFit(Device(), 8192)
    searched.search(lambda size: size, 4096)
    assert not searched.should_search(inputs)


def test_tensors_are_found_in_nested_inputs() -> None:
    @dataclass
    class Batch:
        x: torch.Tensor
        more: dict[str, list[torch.Tensor]]

    one, two, three = torch.zeros(1), torch.zeros(2), torch.zeros(3)
    assert tensors_in((one, Batch(two, {"a": [three]}), 7, "text")) == [one, two, three]
    endless: list[object] = []
    endless.append(endless)
    assert tensors_in(endless) == []


def test_out_of_memory_is_distinguished_from_other_errors() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert is_out_of_memory(caught.value)
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


def test_class_lines_know_nested_and_local_classes(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("class A:\n    class B:\n        pass\n\n\ndef make():\n    class C:\n        pass\n")
    assert class_lines(str(file)) == {"A": 1, "A.B": 2, "make.<locals>.C": 7}
    file.write_text("class (:\n")
    assert class_lines(str(file)) == {}


def imported(monkeypatch: pytest.MonkeyPatch, root: Path, *files: Path, roots: tuple[Path, ...] = ()) -> list[str]:
    """The files that a run would name if its modules were these; torch's version left out."""
    for i, file in enumerate(files):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        module = ModuleType(f"module{i}")
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    environments = [sys.prefix, sys.base_prefix, str(ROOT), *map(str, roots)]
    found, complete = imported_files(str(root), environments, str(root / "entry.py"))
    assert complete and found[-1] == torch.version.__file__
    return found[:-1]


def test_imported_files_are_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "project"
    own = [root / "entry.py", root / "model.py", tmp_path / "sibling" / "layers.py"]
    others = [root / ".venv" / "lib" / "package.py", tmp_path / "lib" / "site-packages" / "package.py"]
    found = imported(monkeypatch, root, *own, *others, roots=(root / ".venv",))
    assert found == [str(path) for path in own]


def test_an_environment_that_holds_the_whole_project_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = [tmp_path / "project" / "entry.py", tmp_path / "project" / "model.py"]
    found = imported(monkeypatch, tmp_path / "project", *own, roots=(tmp_path,))
    assert found == [str(path) for path in own]


def test_a_module_that_torch_wrote_for_this_process_is_not_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    instantiator = ModuleType("torch.distributed.nn.jit.instantiator")
    instantiator.INSTANTIATED_TEMPLATE_DIR_PATH = str(tmp_path / "generated")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, instantiator.__name__, instantiator)
    monkeypatch.delitem(sys.modules, "_remote_module_non_scriptable", raising=False)  # of this torch's own folder
    own = [tmp_path / "project" / "entry.py"]
    generated = tmp_path / "generated" / "_remote_module_non_scriptable.py"
    assert imported(monkeypatch, tmp_path / "project", *own, generated) == [str(path) for path in own]


def test_files_that_cannot_be_named_make_the_list_incomplete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.touch()
    bad = ModuleType("bad")
    bad.__file__ = str(tmp_path / "caf\udce9.py")
    Path(bad.__file__).touch()
    monkeypatch.setitem(sys.modules, "bad", bad)
    found, complete = imported_files(str(tmp_path), [sys.prefix, sys.base_prefix, str(ROOT)], str(entry))
    assert not complete
    assert found == [str(entry), torch.version.__file__]


def test_the_runner_is_never_the_users_code() -> None:
    assert str(Path(fork_server.__file__).resolve().parent) in interpreter.environment()["environmentRoots"]


@pytest.mark.parametrize(
    ("busy", "idle", "own", "used"),
    [
        (20.0, 0.0, 20.0, None),  # all of it ours
        (20.0, 0.0, 10.0, 1.0),
        (19.0, 1.0, 3.0, 1.6),
        (20.0, 0.0, 18.5, None),  # what any machine does beside
        (10.0, 10.0, 0.0, None),  # there was a processor for us
        (0.05, 0.0, 0.0, None),  # too short to tell
    ],
)
def test_others_on_the_machine(busy: float, idle: float, own: float, used: float | None) -> None:
    found = others_used(Usage(100, 50, 7), Usage(100 + busy, 50 + idle, 7 + own), 2)
    assert found == (None if used is None else pytest.approx(used))
    assert others_used(None, Usage.now(), 2) is None


def test_what_we_use_ourselves_is_ours() -> None:
    """Also in a process below this one, while it runs and afterwards."""
    before = Usage.now()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        time.sleep(1)
        during = Usage.now()
        process.kill()
    after = Usage.now()
    assert during.own - before.own >= 0.2
    assert after.own > during.own - 0.001  # sums of hundredths
    assert after.busy - before.busy >= 0.2


def test_a_length_provider_says_how_long_the_inputs_are() -> None:
    def entry(returned: object) -> EntryPoint:
        return EntryPoint(list, list, list, batch_size=2, length_provider=lambda *_: returned)

    assert EntryPoint(list, list, list, batch_size=2).length((1,)) is None
    assert entry((torch.tensor(1200), "tokens")).length((1,)) == {"total": 1200.0, "unit": "tokens"}
    for wrong in (1200, (0, "tokens"), (math.nan, "tokens"), (1200, ""), (1200, "x" * 65), ("many", "tokens"), None):
        with pytest.raises(Failure, match="must return how long the inputs are"):
            entry(wrong).length((1,))


@pytest.mark.parametrize(
    "machine", json.loads((ROOT / "tests/data/machine_limits.json").read_text()), ids=lambda m: m["name"]
)
def test_the_machines_limits_are_those_of_all_control_groups_above(machine: dict[str, Any], tmp_path: Path) -> None:
    for path, content in machine["files"].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    expected = MachineLimits(machine["memoryBytes"], machine["availableBytes"], machine["processors"])
    assert machine_limits(str(tmp_path)) == expected


def test_a_batch_size_that_was_disturbed_is_timed_again_when_the_time_is_over() -> None:
    quiet, disturbed = Sampled(8, round_medians_ns=[100.0] * 6), Sampled(1, round_medians_ns=[90.0, 300.0] * 3)
    assert not quiet.is_disturbed and disturbed.is_disturbed
    assert due([quiet, disturbed], 4, is_over=True) == [disturbed]
    disturbed.round_medians_ns += [90.0] * 20
    assert due([quiet, disturbed], 4, is_over=True) == []


def sizes_freed(requests: list[int]) -> list[int]:
    """Of requests of memory: the sizes asked for, and those freed, negative, in order."""
    sizes: list[int] = []
    found = []
    for request in requests:
        if request > 0:
            sizes.append(request)
        found.append(request if request > 0 else -sizes[~request])
    return found


def test_what_a_script_holds_is_asked_for_before_its_steps_and_after_the_first() -> None:
    requests = [10, 20, ~0, 0, 30, ~2, ~1, 40, ~3]
    held = with_held(requests, [1, 2, 3], [4, 5])
    assert sizes_freed(held) == [1, 2, 3, 10, 20, -10, 4, 5, 30, -30, -20, 40, -40]
    assert with_held([], [1], [2]) == [], "what the steps ask for is not known"


def test_the_state_of_an_optimizer_is_asked_for_after_the_first_step_and_gradients_that_are_gone_are_not() -> None:
    model = torch.nn.Linear(31, 33, bias=False)
    size = 4 * 31 * 33
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    model(torch.ones(1, 31)).sum().backward()
    optimizer.step()
    held = HeldStorages(torch.device("cpu"), {})
    optimizer.zero_grad()
    requests = held.with_requests([77, 0, 78])
    mark, last = requests.index(77), len(requests) - 1
    assert requests[:mark].count(size) == 1, "its gradient is gone"
    assert requests[mark + 1 : last].count(size) == 2
    assert requests[last] == 78
