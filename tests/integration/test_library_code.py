"""`--code`: figures for the lines of packages, wherever these are installed; and what is shown without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, profile, ridgeline
from jsonschema import Draft202012Validator
from library_project import LibraryProject, library_project

Lines = dict[tuple[str, int], dict[str, Any]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> LibraryProject:
    return library_project(tmp_path_factory.mktemp("code"))


def profiled(project: LibraryProject, *arguments: str, **environment: str) -> dict[str, Any]:
    return profile(project.entry, "--seconds", "0.2", "--batch-sizes", "16", *arguments, **environment)


@pytest.fixture(scope="module")
def plain(project: LibraryProject) -> dict[str, Any]:
    return profiled(project)


@pytest.fixture(scope="module")
def shown(project: LibraryProject) -> dict[str, Any]:
    return profiled(project, "--code", "nets,single,spaces", "--code", "losses")


def lines_of(report: dict[str, Any]) -> Lines:
    return {(line["file"], line["line"]): line for line in report["lines"]}


def assert_closes(report: dict[str, Any]) -> None:
    lines, other = report["lines"], report["other"]
    ms = sum(line["timeMs"]["self"] for line in lines) + sum(item["timeMs"] for item in other)
    assert ms == pytest.approx(report["iteration"]["timeMs"])
    at_peak = sum(line["memoryBytes"]["atPeak"] for line in lines) + sum(item["peakBytes"] for item in other)
    assert at_peak == report["memory"]["peakBytes"]
    for line in lines:
        assert line["timeMs"]["self"] <= line["timeMs"]["total"] * 1.000001
        assert line["timeMs"]["total"] <= report["iteration"]["timeMs"] * 1.000001


def test_a_package_has_no_lines_unless_it_is_named(project: LibraryProject, plain: dict[str, Any]) -> None:
    assert_closes(plain)
    assert {line["file"] for line in plain["lines"]} == {"entry.py"}
    assert plain["entry"]["code"] == []


def test_the_line_that_calls_a_library_tells_what_it_is_spent_on(
    project: LibraryProject, plain: dict[str, Any], schema: dict[str, Any]
) -> None:
    Draft202012Validator(schema).validate(plain)
    call = plain["libraryCall"]
    assert (call["file"], call["line"]) == project.place(project.entry, "call")
    of_call = lines_of(plain)[call["file"], call["line"]]["timeMs"]["self"]
    assert plain["iteration"]["timeMs"] / 2 < call["timeMs"] <= of_call * 1.000001
    found = {(line["file"], line["line"]) for line in call["lines"]}
    assert {project.place(project.net, "up"), project.place(project.net, "down")} <= found
    assert {line["package"] for line in call["lines"]} <= {"nets", "single", "spaces"}
    assert sum(line["timeMs"] for line in call["lines"]) <= call["timeMs"] * 1.000001
    modules = {module["type"]: module for module in call["modules"]}
    assert modules["Block"]["instances"] == 3 and "Net" not in modules
    assert sum(module["timeMs"] for module in call["modules"]) <= of_call * 1.000001


def test_lines_of_packages_have_figures(
    project: LibraryProject, plain: dict[str, Any], shown: dict[str, Any], schema: dict[str, Any]
) -> None:
    Draft202012Validator(schema).validate(shown)
    assert_closes(shown)
    assert not [warning for warning in shown["warnings"] if "are not shown" in warning]
    lines = lines_of(shown)
    for file, mark, calls in (
        (project.net, "up", 3),
        (project.net, "down", 3),
        (project.net, "block", 3),
        (project.net, "head", 1),
        (project.installed("single.py"), "activated", 1),
        (project.installed("spaces/far/scaling.py"), "scaled", 1),
        (project.installed("../more/site-packages/spaces/near/shifting.py").resolve(), "shifted", 1),
        (project.editable, "energy", 1),
    ):
        assert lines[project.place(file, mark)]["calls"] == calls, (mark, sorted(lines))
    block = lines[project.place(project.net, "block")]["timeMs"]
    inside = [lines[project.place(project.net, mark)]["timeMs"]["self"] for mark in ("up", "down")]
    # The Python around a block is in gaps too short to be divided, which belong to the line of the operation that
    # follows (docs/dev/measurement/time.md): the calling line may have no time of its own.
    assert block["total"] == pytest.approx(block["self"] + sum(inside))
    assert sum(inside) > block["self"]


def test_a_line_that_also_computes_has_more_than_what_it_calls(tmp_path: Path) -> None:
    """Gaps of Python that are long enough to be divided by samples."""
    project = library_project(tmp_path)
    project.net.write_text(project.net.read_text().replace("block(x)  #", "block((sum(range(400_000)), x)[1])  #"))
    report = profiled(project, "--code", "nets")
    assert_closes(report)
    lines = lines_of(report)
    block = lines[project.place(project.net, "block")]["timeMs"]
    inside = [lines[project.place(project.net, mark)]["timeMs"]["self"] for mark in ("up", "down")]
    assert block["self"] > 1  # 1.2 million additions
    assert block["total"] > sum(inside)
    assert block["total"] == pytest.approx(block["self"] + sum(inside))


def test_the_calling_line_keeps_its_total(project: LibraryProject, shown: dict[str, Any]) -> None:
    lines = lines_of(shown)
    call = lines[project.place(project.entry, "call")]["timeMs"]
    of_net = sum(line["timeMs"]["self"] for (file, _), line in lines.items() if file.endswith("nets/net.py"))
    assert call["total"] >= of_net + call["self"] > 2 * call["self"]
    backward = lines[project.place(project.entry, "backward")]["timeMs"]
    assert backward["total"] > backward["self"]


def test_weights_belong_to_the_lines_that_make_them(project: LibraryProject, shown: dict[str, Any]) -> None:
    file = str(project.net.relative_to(project.entry.parent))
    weights = sum(line["memoryBytes"]["weights"] for line in shown["lines"] if line["file"] == file)
    assert weights == shown["memory"]["byCategory"]["weights"] > 0


def test_modules_of_a_package_are_defined_at_their_classes(project: LibraryProject, shown: dict[str, Any]) -> None:
    found: dict[str, int] = {}
    waiting = [shown["breakdown"]]
    while waiting:
        node = waiting.pop()
        waiting += node["children"]
        if node["definition"] and node["definition"]["file"].endswith("nets/net.py"):
            found[node["type"]] = node["definition"]["line"]
    text = project.net.read_text().splitlines()
    assert set(found) == {"Net", "Block"}
    assert all(text[line - 1].startswith(f"class {kind}(") for kind, line in found.items())


def test_a_stored_profile_answers_for_the_same_packages_only(
    project: LibraryProject, plain: dict[str, Any], shown: dict[str, Any]
) -> None:
    def source_of(*code: str) -> str:
        done = ridgeline(
            "predict", project.entry, "--python", PYTHON, "--batch-size", "64", "--format", "json",
            "--seconds", "0.2", "--batch-sizes", "16", *code,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["profile"]["id"]

    assert source_of() == plain["id"]
    assert source_of("--code", "spaces,single,losses,nets") == shown["id"]
    assert source_of("--code", "nets") not in (plain["id"], shown["id"])


def test_a_change_of_a_package_that_is_shown_makes_a_profile_old(tmp_path: Path) -> None:
    project = library_project(tmp_path)
    first = profiled(project, "--code", "nets")["id"]

    def answers() -> str:
        done = ridgeline(
            "predict", project.entry, "--python", PYTHON, "--batch-size", "64", "--format", "json",
            "--seconds", "0.2", "--batch-sizes", "16", "--code", "nets",
        )  # fmt: skip
        return json.loads(done.stdout)["profile"]["id"]

    assert answers() == first
    project.net.write_text(project.net.read_text() + "\n# changed\n")
    assert answers() != first


def test_a_package_that_was_not_imported_is_named(project: LibraryProject) -> None:
    report = profiled(project, "--code", "net,nets,_struct")
    assert [package["package"] for package in report["entry"]["code"]] == ["nets"]
    assert_closes(report)
    warnings = [warning for warning in report["warnings"] if "are not shown" in warning]
    assert len(warnings) == 2
    assert warnings[0].startswith("The lines of net are not shown: nothing of that name was imported")
    assert "such as nets" in warnings[0]
    assert warnings[1] == "The lines of _struct are not shown: it has no Python code."


@pytest.mark.parametrize("command", ["profile", "predict", "report"])
@pytest.mark.parametrize("name", ["", "../nets", "nets/net.py", "/etc", "nets;rm", "a b", ".nets"])
def test_what_is_no_name_of_a_package_is_refused(project: LibraryProject, command: str, name: str) -> None:
    question = ("--batch-size", "8") if command == "predict" else ()
    done = ridgeline(command, "--code", name, *question, project.entry)
    assert done.returncode == 2, done.stderr
    assert "is not the import name of a package" in done.stderr, done.stderr
    assert done.stdout == ""


@pytest.mark.long
def test_text_and_markdown_name_the_lines_below(project: LibraryProject) -> None:
    arguments = ("profile", project.entry, "--python", PYTHON, "--seconds", "0.2", "--batch-sizes", "16")
    text = ridgeline(*arguments).stdout
    assert "LIBRARY LINE BELOW entry.py:" in text and "MODULES BELOW entry.py:" in text
    assert "nets/net.py:" in text and "self.down(hidden)" in text
    assert "--code nets" in text
    markdown = ridgeline(*arguments, "--format", "markdown").stdout
    assert "| library line below entry.py:" in markdown and "| nets/net.py:" in markdown.replace("\\", "")
    named = ridgeline(*arguments, "--code", "nets").stdout
    assert "nets/net.py:" in named and "LIBRARY LINE BELOW" not in named


SCRIPT = """
from entry import input_provider, iteration_provider, model_provider

iteration = iteration_provider(model_provider())
for _ in range(200):
    iteration(*input_provider())
"""


def test_a_training_script_shows_packages_too(project: LibraryProject, tmp_path: Path) -> None:
    script = project.entry.with_name("train.py")
    script.write_text(SCRIPT)
    output = tmp_path / "report.json"
    done = ridgeline(
        "profile", "--stop", "--seconds", "0.2", "--python", PYTHON, "--code", "nets,absent",
        "--format", "json", "--output", output, "--", script,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(output.read_text())
    assert_closes(report)
    assert lines_of(report)[project.place(project.net, "up")]["calls"] == 3
    assert any(warning.startswith("The lines of absent are not shown") for warning in report["warnings"])
