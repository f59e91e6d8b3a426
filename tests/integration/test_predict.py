"""`ridgeline predict`: from a stored profile while it holds, from a new one else, and answers that agree."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from block_entries import entry_of_blocks, modules_in
from conftest import ENTRIES, PYTHON, ROOT, prediction_validator, profile, ridgeline
from jsonschema import Draft202012Validator

MODEL = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)

    def forward(self, x):
        return self.layer(x)
"""
ENTRY = """import torch
from model import Net


def model_provider():
    return Net()


def input_provider(batch_size=64):
    return (torch.randn(batch_size, 64),)


def iteration_provider(model):
    def iteration(x):
        model(x).sum().backward()

    return iteration
"""
SHORT = ("--seconds", "0.1", "--python", PYTHON)


def predict(entry: Path, *question: str) -> dict[str, Any]:
    done = ridgeline("predict", entry, *question, *SHORT, "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert list(prediction_validator().iter_errors(answer)) == []
    return answer


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "entry.py").write_text(ENTRY)
    return tmp_path / "entry.py"


def test_the_stored_profile_answers_until_a_file_of_it_changes(entry: Path) -> None:
    report = profile(entry, "--seconds", "0.1")
    assert report["id"]
    first = predict(entry, "--batch-size", "64")
    assert first["profile"]["stored"] and first["profile"]["id"] == report["id"]
    assert {32, 64, 128} <= set(first["limits"]["sampledBatchSizes"])

    (entry.parent / "unrelated.py").write_text("x = 1\n")
    (entry.parent / "model.py").write_text(MODEL)  # touched, the same
    assert predict(entry, "--batch-size", "64")["profile"]["id"] == report["id"]
    # What another profile would be asked for is not answered from this one.
    assert not predict(entry, "--batch-size", "64", "--batch-sizes", "16,96")["profile"]["stored"]
    assert predict(entry, "--batch-size", "64", "--batch-sizes", "16")["profile"]["stored"]

    (entry.parent / "model.py").write_text(MODEL.replace("Linear(64, 64)", "Linear(64, 65)"))
    module = predict(entry, "--batch-size", "64")
    assert not module["profile"]["stored"]
    assert predict(entry, "--batch-size", "64")["profile"]["id"] == module["profile"]["id"]

    entry.write_text(ENTRY.replace("batch_size=64", "batch_size=48"))
    changed = predict(entry, "--batch-size", "48")
    assert not changed["profile"]["stored"] and changed["entry"]["batchSize"] == 48
    assert changed["answer"]["measured"] is not None

    # Back as it was: what was kept for it holds again.
    entry.write_text(ENTRY)
    (entry.parent / "model.py").write_text(MODEL)
    assert predict(entry, "--batch-size", "64")["profile"]["stored"]


def test_a_profile_is_named_by_its_id_or_is_the_last_one_of_the_folder(
    entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = profile(entry, "--seconds", "0.1", "--memory-limit", "4GiB")["id"]

    def ask(*arguments: str | Path) -> tuple[dict[str, Any], str]:
        done = ridgeline(*arguments, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    question = ("--batch-size", "64")
    monkeypatch.chdir(entry.parent)
    last, said = ask("predict", *question)  # in the interpreter and with the options of that profile
    assert last["profile"]["stored"] and last["profile"]["id"] == kept
    assert said == "ridgeline: entry.py was profiled last here\n"
    found, said = ask("predict", kept, *question)
    assert found["answer"] == last["answer"] and said == f"ridgeline: the profile {kept} is of entry.py\n"
    assert ask("devices", kept, "--on", "a100")[1].startswith(said)
    assert "entry.py was profiled last here" in ask("what-if", "--change", "amp", "--seconds", "0.1")[1]

    # An option that the profile does not fit is named, once.
    found, said = ask("predict", kept, *question, "--batch-sizes", "16,96", *SHORT)
    assert not found["profile"]["stored"] and said.count("warning: ") == 1
    assert f"the stored profile {kept} is not used, since it did not sample all of --batch-sizes" in said
    found, said = ask("predict", entry, *question, *SHORT)
    assert not found["profile"]["stored"] and said.count("warning: ") == 1
    assert "since it was made with another --memory-limit" in said

    (entry.parent / "model.py").write_text(MODEL.replace("Linear(64, 64)", "Linear(64, 65)"))
    found, said = ask("predict", kept, *question)
    assert found["answer"] == last["answer"]
    assert f"the code may have changed since the stored profile {kept} was made" in said
    monkeypatch.chdir("/proc/self")
    for command in (("predict", "--fits"), ("what-if",), ("devices",)):
        none = ridgeline(*command)
        assert none.returncode == 2 and "there is no stored profile of an entry point in this folder" in none.stderr


def test_answers_agree_with_the_samples_and_with_each_other(tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"  # its own: other tests profile that one too, and the latest profile answers
    entry.write_text((ENTRIES / "layers" / "entry.py").read_text())
    report = profile(entry, "--seconds", "0.2", "--batch-sizes", "64,512,1024")
    times = {s["batchSize"]: s["timeMs"] for s in report["models"]["time"]["samples"]}
    peaks = {s["batchSize"]: s["peakBytes"] for s in report["models"]["memory"]["samples"]}
    assert sorted(times) == [64, 256, 512, 1024]
    for size in times:
        found = predict(entry, "--batch-size", str(size))
        answer = found["answer"]
        assert found["profile"]["stored"], found["profile"]
        assert (answer["extrapolated"], answer["fits"]) == (False, True), answer
        assert answer["measured"]["timeMs"] == times[size]
        assert answer["measured"]["peakBytes"] == peaks[size]
        for figure, measured in (("timeMs", times[size]), ("peakBytes", peaks[size])):
            low, high = answer[figure]["interval"]["low"], answer[figure]["interval"]["high"]
            # The interval is of a new observation, so it holds what was fitted; but for the last digits.
            assert low * 0.999 <= measured <= high * 1.001, (size, figure)
    beyond = predict(entry, "--batch-size", "2048")["answer"]
    assert beyond["extrapolated"] and beyond["measured"] is None
    memory = predict(entry, "--memory", str(int(beyond["peakBytes"]["value"]) + 1))["answer"]
    assert memory["batchSize"] == 2048
    # The line through noisy times may fall; then nothing beyond the samples is told, and nothing is to be inverted.
    if beyond["samplesPerSecond"] is not None:
        back = predict(
            entry, "--throughput", repr(predict(entry, "--batch-size", "700")["answer"]["samplesPerSecond"]["value"])
        )
        assert back["answer"]["batchSize"] <= 700


@pytest.mark.long
def test_the_report_answers_as_predict_does() -> None:
    entry = ENTRIES / "layers" / "entry.py"
    report = profile(entry, "--seconds", "0.2", "--batch-sizes", "64,512,1024", "--check-sizes", "300,2048")
    same = ("--batch-sizes", "64,512,1024")
    asked = {
        "now": ("--batch-size", str(report["entry"]["batchSize"])),
        "twice": ("--batch-size", str(2 * report["entry"]["batchSize"])),
        "largestThatFits": ("--fits",),
        "enoughThroughput": ("--of-maximum", "95"),
        "activationsEqualWeights": ("--balanced",),
    }
    for name, question in asked.items():
        found = predict(entry, *question, *same)
        assert found["profile"]["id"] == report["id"]
        same_members = {"answer": found["answer"], "obstacle": found["obstacle"]}
        same_members["memoryCheckedUpTo"] = found["limits"]["memoryCheckedUpTo"]
        assert same_members == report["answers"][name], name
    balanced = report["answers"]["activationsEqualWeights"]["answer"]
    assert balanced["byCategory"]["activations"] >= balanced["byCategory"]["weights"]
    assert sum(balanced["byCategory"].values()) == pytest.approx(balanced["peakBytes"]["value"])

    # What checks the models is kept out of them, and their memory is exact there.
    assert [s["batchSize"] for s in report["models"]["time"]["samples"]] == [64, 256, 512, 1024]
    assert [(check["batchSize"], check["extrapolated"]) for check in report["checks"]] == [(300, False), (2048, True)]
    for check in report["checks"]:
        assert check["predicted"]["peakBytes"]["value"] == check["peakBytes"]
        assert check["iterations"] >= 6


def test_the_parts_of_the_peak_are_those_of_the_report() -> None:
    report = profile(ENTRIES / "layers" / "entry.py", "--seconds", "0.2", "--batch-sizes", "64,512")
    batch_size = report["entry"]["batchSize"]
    peak = report["models"]["memory"]["peak"]
    index = max(i for i, piece in enumerate(peak["value"]) if piece["fromBatchSize"] <= batch_size)
    categories = dict.fromkeys(report["memory"]["byCategory"], 0.0)
    lines: dict[tuple[str, int], float] = {}
    for part in peak["parts"][index]:
        size = part["interceptBytes"] + part["slopeBytes"] * batch_size
        categories[part["category"]] += size
        place = (part["location"]["file"], part["location"]["line"]) if part["location"] else ("", 0)
        lines[place] = lines.get(place, 0) + size
    assert categories == pytest.approx(report["memory"]["byCategory"])
    held = {(row["file"], row["line"]): row["memoryBytes"]["atPeak"] for row in report["lines"]}
    held = {place: size for place, size in held.items() if size}
    assert {place: size for place, size in lines.items() if place[0] and size} == pytest.approx(held)

    # The lines and items grow as the step does.
    for size in (1, batch_size, 5000):
        total = sum(at(row["timeModel"], size) for row in [*report["lines"], *report["other"]] if row["timeModel"])
        assert total == pytest.approx(at(report["models"]["time"]["pieces"], size), rel=1e-6)


def at(pieces: list[dict[str, float]], batch_size: int) -> float:
    piece = [piece for piece in pieces if piece["fromBatchSize"] <= batch_size][-1]
    return piece["interceptMs"] + piece["slopeMs"] * batch_size


def test_text_says_where_it_comes_from_and_what_it_is(entry: Path) -> None:
    done = ridgeline("predict", entry, "--batch-size", "1000", *SHORT)
    assert done.returncode == 0, done.stderr
    assert "profiled now" in done.stdout
    assert re.search(r"extrapolated from batches of \d+ to \d+", done.stdout)
    done = ridgeline("predict", entry, "--memory", "1KiB", *SHORT)
    assert done.returncode == 0, done.stderr
    assert "from the profile of" in done.stdout
    assert "No batch size is known to need at most 1.00 KiB" in done.stdout


def test_a_file_that_changes_during_the_run_makes_the_profile_of_no_use_later(entry: Path) -> None:
    entry.write_text(ENTRY + "\nopen(__file__, 'a').write('# more\\n')\n")
    first = predict(entry, "--batch-size", "64")
    assert not first["profile"]["stored"] and first["profile"]["id"]
    assert not predict(entry, "--batch-size", "64")["profile"]["stored"]


@pytest.mark.parametrize(
    "question",
    [
        [],
        ["--batch-size", "4", "--memory", "1GiB"],
        ["--batch-size", "0"],
        ["--batch-size", "99999999"],
        ["--batch-size", "many"],
        ["--throughput", "-1"],
        ["--throughput", "inf"],
        ["--throughput", "nan"],
        ["--memory", "0"],
        ["--memory", "8 cats"],
        ["--of-maximum", "101"],
        ["--fits", "--balanced"],
    ],
)
def test_a_question_must_be_one_and_make_sense(question: list[str], entry: Path) -> None:
    done = ridgeline("predict", entry, *question)
    assert done.returncode == 2
    assert "--" in done.stderr and done.stdout == ""


def test_a_failed_profile_is_told_as_ever(entry: Path) -> None:
    entry.write_text("import no_such_module\n" + entry.read_text())
    done = ridgeline("predict", entry, "--batch-size", "4", *SHORT)
    assert done.returncode == 1
    assert "[import-error]" in done.stderr and done.stdout == ""


def test_profile_and_predict_have_the_same_options() -> None:
    def options(command: str) -> set[str]:
        text = subprocess.run(
            [*ridgeline_command(), command, "--help"], capture_output=True, text=True, check=True
        ).stdout
        return {word.split(",")[0] for line in text.splitlines() for word in line.split()[:1] if word.startswith("--")}

    assert options("predict") - options("profile") == {
        "--throughput",
        "--memory",
        "--of-maximum",
        "--fits",
        "--balanced",
        "--refine",
        "--make-fit",
        "--measure-seconds",
    }
    of_scripts = {"--steps", "--stop", "--step-boundary", "--batch-size", "--allow-writes", "--ranks", "--job"}
    assert options("profile") - options("predict") == of_scripts - {"--batch-size", "--allow-writes"}


def ridgeline_command() -> list[str]:
    return [str(ridgeline.__globals__["BINARY"])]


def test_a_batch_size_is_refined_from_operations_timed_at_its_shapes(entry: Path) -> None:
    asked = ridgeline(
        "predict", entry, "--batch-size", "128", "--refine", "--measure-seconds", "60", *SHORT, "--format", "json"
    )
    assert asked.returncode == 0, asked.stderr
    found = json.loads(asked.stdout)
    assert list(prediction_validator().iter_errors(found)) == []
    assert not found["profile"]["stored"]
    refined = found["refined"]
    assert refined["batchSize"] == found["answer"]["batchSize"] == 128
    time, rate = refined["timeMs"], refined["samplesPerSecond"]
    assert 0 < time["low"] < time["value"] < time["high"]
    assert rate["value"] == pytest.approx(128e3 / time["value"])
    assert rate["low"] == pytest.approx(128e3 / time["high"])
    # What another process disturbed counts as not measured, and is warned of.
    assert refined["measuredShare"] > 0.9 or "Other processes ran while" in asked.stderr
    assert 0 <= refined["operationsMeasured"] <= refined["operations"] > 0
    assert predict(entry, "--batch-size", "128")["refined"] is None
    done = ridgeline("predict", entry, "--batch-size", "128", "--refine", *SHORT)
    assert "refined" in done.stdout and "The figures above" in " ".join(done.stdout.split())


MAKE_FIT = Draft202012Validator(json.loads((ROOT / "protocol/make_fit.schema.json").read_text("utf-8")))


def make_fit(entry: Path, size: int, *options: str) -> dict[str, Any]:
    done = ridgeline("predict", entry, "--make-fit", str(size), *options, *SHORT, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [error.message for error in MAKE_FIT.iter_errors(found)] == []
    return found


@pytest.mark.long
def test_what_makes_a_batch_size_fit_and_what_it_costs() -> None:
    entry = ROOT / "examples" / "mlp" / "entry.py"
    roomy = make_fit(entry, 1024)
    alone = roomy["changes"][0]
    assert alone["change"] == [] and alone["fits"] and alone["speedUp"]["value"] == 1
    by_change = {"+".join(row["change"]): row for row in roomy["changes"] if row["applies"]}
    assert by_change["accumulate:4"]["peakBytes"] < by_change["accumulate:2"]["peakBytes"] < alone["peakBytes"]
    # A limit between the two: only what needs less than the batch size alone makes it fit.
    limit = (by_change["accumulate:4"]["peakBytes"] + alone["peakBytes"]) // 2
    tight = make_fit(entry, 1024, "--memory", str(limit))
    fits = {"+".join(row["change"]): row["fits"] for row in tight["changes"]}
    assert not fits[""] and fits["accumulate:4"]
    done = ridgeline("predict", entry, "--make-fit", "1024", "--memory", str(limit), *SHORT)
    assert done.returncode == 0, done.stderr
    assert "does not fit into" in done.stdout and "predicted to make it fit" in done.stdout
    assert ridgeline("predict", entry, "--balanced", "--memory", "8GiB").returncode == 2
    ranked = [row for row in roomy["changes"][1:] if row["applies"]]
    speeds = [row["speedUp"]["value"] for row in ranked]
    assert speeds == sorted(speeds, reverse=True), "all fit: the fastest first"
    for row in ranked:
        assert row["speedUp"]["low"] <= row["speedUp"]["value"] <= row["speedUp"]["high"]


def peaks_of(entry: Path, size: int, sets: list[tuple[str, ...]]) -> dict[str, int]:
    """The predicted peak of each set of modules that are checkpointed, by the change's name."""
    peaks = {}
    for modules in sets:
        change = f"checkpoint:{','.join(modules)}"
        asked = ("--change", f"batch-size:{size}", "--change", change, "--format", "json", *SHORT)
        done = ridgeline("what-if", entry, *asked)
        assert done.returncode == 0, done.stderr
        both = [row for row in json.loads(done.stdout)["changes"] if row["change"] == [f"batch-size:{size}", change]]
        peaks[change] = both[0]["predicted"]["peakBytes"]
    return peaks


@pytest.mark.long
def test_just_as_many_modules_are_checkpointed_as_it_takes(tmp_path: Path) -> None:
    """Against the sets with one module less, listed one by one. What is planned is tried: it needs what was
    predicted."""
    entry = tmp_path / "entry.py"
    entry.write_text(entry_of_blocks([512, 2048, 512, 1024]))
    size = 4096
    roomy = {"+".join(row["change"]): row for row in make_fit(entry, size)["changes"]}
    least, most = roomy["checkpoint"]["peakBytes"], roomy[""]["peakBytes"]
    limit = least + (most - least) // 3
    rows = {"+".join(row["change"]): row for row in make_fit(entry, size, "--memory", str(limit))["changes"]}
    (plan,) = [
        row
        for row in rows.values()
        if any(":" in part and "checkpoint" in part for part in row["change"]) and "bf16-autocast" not in row["change"]
    ]
    assert plan["fits"] and plan["peakBytes"] <= limit and not rows[""]["fits"]
    assert plan["stepMs"] <= rows["checkpoint"]["stepMs"]
    tried = ridgeline(
        "what-if",
        entry,
        *(part for change in (f"batch-size:{size}", *plan["change"]) for part in ("--change", change)),
        "--try",
        "--try-seconds",
        "1",
        "--format",
        "json",
        *SHORT,
    )
    assert tried.returncode == 0, tried.stderr
    (row,) = [
        row for row in json.loads(tried.stdout)["changes"] if row["change"] == [f"batch-size:{size}", *plan["change"]]
    ]
    assert row["tried"]["changedPeakBytes"] == pytest.approx(plan["peakBytes"], rel=0.01)
    # Of whole modules none is too many: a set with one of them less is cheaper, and so it must not fit.
    if [part.partition(":")[0] for part in plan["change"]] == ["checkpoint"]:
        planned = modules_in(plan["change"][0].partition(":")[2])
        fewer = [tuple(name for name in planned if name != one) for one in planned] if len(planned) > 1 else []
        assert all(peak > limit for peak in peaks_of(entry, size, fewer).values())
