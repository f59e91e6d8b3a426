"""What the command line says before anything runs: mistyped words, help, places that cannot be written."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
from pathlib import Path

import option_pages
import pytest
from conftest import BINARY, PYTHON, ROOT, ridgeline

ENTRY = ROOT / "examples" / "mlp" / "entry.py"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("profil", "entry.py"), "Did you mean ridgeline profile?"),
        (("reprt", "trace.json"), "Did you mean ridgeline report?"),
        (("job", "optimise", "a.ridgeline-job"), "Did you mean ridgeline job optimize?"),
        (("job", "optimize", "a.ridgeline-job", "--memry", "1GiB"), "Did you mean --memory?"),
        (("predict", ENTRY, "--batchsize", "8"), "Did you mean --batch-size?"),
        (("predict", ENTRY, "--batch-size=8", "--memorylimit=1GiB"), "Did you mean --memory-limit?"),
        (("profile", ENTRY, "--second", "1"), "Did you mean --seconds?"),
    ],
)
def test_what_was_meant_is_suggested(arguments: tuple[str | Path, ...], meant: str) -> None:
    done = ridgeline(*arguments)
    assert done.returncode == 2
    assert meant in done.stderr


@pytest.mark.parametrize("arguments", [("frobnicate",), ("profile", ENTRY, "--frobnicate"), ("relai", "x")])
def test_nothing_is_suggested_where_nothing_is_near(arguments: tuple[str | Path, ...]) -> None:
    done = ridgeline(*arguments)
    assert done.returncode == 2
    assert "Did you mean" not in done.stderr


GROUPS = ["Start here", "Predict and compare", "Jobs of several ranks", "This machine", "Editors and tools"]


def test_the_program_alone_shows_its_commands_in_groups() -> None:
    done = ridgeline()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ridgeline("--help").stdout
    assert re.findall(r"^(.+):$", done.stdout, re.MULTILINE) == ["Options", *GROUPS]


def test_help_shows_values_in_the_words_of_users() -> None:
    """Neither the library's types nor its validators, for no option of any command."""
    for command in commands():
        shown = ridgeline(*command, "--help").stdout
        for line in re.findall(r"^  -.*", shown, re.MULTILINE):
            words = re.split(r"  +", line.strip())[0]
            assert not re.search(r"\bU?INT\b|FLOAT|SIZE \[b|REQUIRED|Needs|Excludes|a number from", words), line
            assert "TEXT" not in words, line


def commands() -> list[tuple[str, ...]]:
    """The commands that the help lists, and theirs."""
    return [each.words for each in option_pages.commands(Path(BINARY))[1:]]


def test_the_help_of_each_command_has_two_examples() -> None:
    every = commands()
    assert {("init",), ("profile",), ("what-if",), ("compare",)} <= set(every), every
    for command in every:
        done = ridgeline(*command, "--help")
        assert done.returncode == 0, command
        examples = done.stdout.partition("Examples:\n")[2].strip().splitlines()
        assert len(examples) == 2, (command, done.stdout)
        assert all(f"{example.strip()} ".startswith(f"ridgeline {' '.join(command)} ") for example in examples), command


def test_help_tells_defaults() -> None:
    words = " ".join(ridgeline("profile", "--help").stdout.split())
    assert "--seconds SECONDS [10] " in words and "--timeout SECONDS [600] " in words
    assert "--format text|json|markdown|html|perfetto|speedscope [text] " in words


@pytest.mark.parametrize(
    ("place", "why"), [("", "it is a folder"), ("missing/report.txt", "there is no folder"), ("file/x", "no folder")]
)
def test_an_output_that_cannot_be_written_is_refused_before_the_run(place: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = tmp_path / "ran"
    entry = tmp_path / "entry.py"
    entry.write_text(f"open({str(ran)!r}, 'w').close()\n" + ENTRY.read_text())
    done = ridgeline("profile", entry, "--output", tmp_path / place)
    assert done.returncode == 2
    assert "cannot write" in done.stderr and why in done.stderr
    assert not ran.exists() and done.stdout == ""


def test_a_report_that_cannot_be_written_is_kept_elsewhere(tmp_path: Path) -> None:
    """The folder goes while the report is made."""
    folder = tmp_path / "folder"
    folder.mkdir()
    entry = tmp_path / "entry.py"
    entry.write_text(f"import os\nos.path.isdir({str(folder)!r}) and os.rmdir({str(folder)!r})\n" + ENTRY.read_text())
    done = ridgeline(
        "profile",
        entry,
        "--output",
        folder / "report.txt",
        "--seconds",
        "0.1",
        "--batch-sizes",
        "2,4",
        "--python",
        PYTHON,
    )
    assert done.returncode == 3
    assert "No such file or directory" in done.stderr and done.stdout == ""
    kept = Path(re.search(r"The output is in (\S+) instead\.", done.stderr).group(1))
    assert "throughput" in kept.read_text()
    kept.unlink()


def test_a_full_device_is_an_error(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text((ROOT / "tests" / "data" / "report" / "sample.json").read_text())
    with open("/dev/full", "w") as full:
        command = [BINARY, "report", str(report)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert done.stderr == "ridgeline: cannot write to standard output: No space left on device\n"
    done = ridgeline("report", report, "--output", "/dev/full")
    assert done.returncode == 3 and "cannot write /dev/full: No space left on device" in done.stderr
    Path(re.search(r"The output is in (\S+) instead\.", done.stderr).group(1)).unlink()


@pytest.mark.parametrize("change", ["pipeline:4", "no-overlap", "compression:2"])
def test_a_change_that_does_not_fit_is_refused(change: str) -> None:
    """Those of jobs are none of a step, and those of a cluster need one."""
    done = ridgeline("what-if", ENTRY, "--change", change)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{change} is no change of a step, which has bf16-autocast, " in done.stderr
    done = ridgeline("job", "predict", ENTRY, "--change", change)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--cluster is required" in done.stderr


def test_changes_are_listed_without_an_entry() -> None:
    done = ridgeline("what-if", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert "(step: predicted, tried; search)" in rows["accumulate:K"]
    assert "(step, trace: by rule; job; search; cluster)" in rows["zero:STAGE[=N[,BYTES]]"]
    assert rows["pipeline:K"].endswith("(cluster)")
    papers = [
        name.partition(":")[0] for name, line in rows.items() if "(step, trace: from papers, predicted only)" in line
    ]
    assert papers == ["reconstructed-batchnorm", "metaflow", "p3", "blueconnect", "dgc", "vdnn", "gist"]


@pytest.mark.parametrize(("term", "coloured"), [("dumb", False), ("xterm-256color", True)])
def test_a_dumb_terminal_gets_no_escape_sequences(term: str, coloured: bool) -> None:
    main, terminal = pty.openpty()
    environment = {**os.environ, "TERM": term}
    environment.pop("NO_COLOR", None)
    command = [BINARY, "report", ROOT / "tests" / "data" / "report" / "sample.json"]
    with open(main, "rb", buffering=0) as shown, subprocess.Popen(command, stdout=terminal, env=environment) as done:
        os.close(terminal)
        text = b""
        with contextlib.suppress(OSError):  # the end, as Linux tells it
            while part := shown.read(65536):
                text += part
    assert done.returncode == 0 and b"throughput" in text
    assert (b"\x1b" in text) == coloured


@pytest.mark.parametrize("words", [("--on", "abacus", ENTRY), (ENTRY, "--on", "abacus")])
def test_the_place_of_the_file_among_the_options_does_not_matter(words: tuple[str | Path, ...]) -> None:
    done = ridgeline("devices", *words)
    assert done.returncode == 2 and "No device is called abacus" in done.stderr, done.stderr


def test_a_script_is_told_from_an_entry_point(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import sys\nprint(sys.argv[1:])\n")
    done = ridgeline("profile", "--python", PYTHON, script, "--stop", "--help")
    assert (done.returncode, done.stdout) == (0, "['--stop', '--help']\n"), "what follows a script is its own"
    assert "it is run as it is" in done.stderr
    refused = ridgeline("profile", "--check-sizes", "8", script)
    assert refused.returncode == 2 and f"--check-sizes: it is for entry points, and {script} is none" in refused.stderr
    refused = ridgeline("profile", ENTRY, "--stop")
    assert refused.returncode == 2 and "--stop: it is for scripts and commands" in refused.stderr
    assert refused.stdout == ""
    for wrong in (("--no-such-option", script), (ENTRY, "--no-such-option"), (ENTRY, "another.py")):
        done = ridgeline("profile", *wrong)
        assert (done.returncode, done.stdout) == (2, "") and "not expected" in done.stderr, done.stderr
    assert "Usage: ridgeline profile [OPTIONS] ENTRY" in ridgeline("profile", ENTRY, "--help").stdout
    nothing = ridgeline("profile", "--stop")
    assert nothing.returncode == 2 and "an entry point or a training script" in nothing.stderr
