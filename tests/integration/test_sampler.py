"""Whatever a step's stack, recording it stays a small part of its work.

Checked by counts and shares that the agent keeps of its own work, not by how long a step takes here.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import PYTHON, eventually

SCRIPT = Path(__file__).with_name("record_deep.py")
# A recorded step of these takes some milliseconds. When its sampler starves it, it never ends.
PATIENCE_S = 300


def work(step: str, agent: Path) -> list[dict[str, int]]:
    """What the agent did in each of the recorded iterations of a step."""
    done = subprocess.run([PYTHON, SCRIPT, step, agent], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "step",
    ["recursion without operations", "recursion with operations", "very deep recursion", "nested modules", "long gaps"],
)
def test_the_sampler_has_a_small_part_of_the_time(step: str, agent: Path) -> None:
    for counts in work(step, agent):
        assert counts["sampler_ns"] < 0.2 * counts["recorded_ns"]


def test_a_deep_stack_is_sampled_by_few_system_calls(agent: Path) -> None:
    def check() -> None:
        for counts in work("recursion without operations", agent):
            assert counts["samples"] > 0
            assert counts["sampled_frames"] > 1000 * counts["samples"]
            assert counts["sampler_reads"] < counts["sampled_frames"] / 5

    eventually(check)


@pytest.mark.parametrize("step", ["recursion with operations", "very deep recursion", "nested modules"])
def test_an_operation_reads_few_frames_however_deep_it_is(step: str, agent: Path) -> None:
    for counts in work(step, agent):
        assert counts["ops"] > 500
        assert counts["frames"] < 200 * counts["ops"]


def test_operations_that_follow_each_other_are_not_interrupted(agent: Path) -> None:
    def check() -> None:
        first, *later = work("operations only", agent)
        assert first["signals"] > 20  # to learn
        for counts in later:
            # A signal for every 20 ms in the mean, with an accident or two.
            assert counts["signals"] <= 20
            assert counts["ops"] > 1000

    eventually(check)  # when another process gets the processor there is a gap, too, or no signal


@pytest.mark.parametrize("step", ["long gaps", "long gaps at ends of operations", "a few long gaps of many"])
def test_long_gaps_between_operations_are_expected_and_sampled(step: str, agent: Path) -> None:
    def check() -> None:
        for counts in work(step, agent)[1:]:
            assert 9 <= counts["armings"] <= 20  # the tenth may be the end of the iteration
            assert counts["samples"] > 20
            assert counts["signals"] < 1.5 * counts["samples"]

    eventually(check)
