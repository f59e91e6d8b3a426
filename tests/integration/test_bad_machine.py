"""What a profile is given besides the entry's code: paths, interpreters, compilers, caches, disks, a torch.

Each that cannot be used gets one clear message and a documented exit code.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bad_entries import EXIT_CODES, Bad, content, entry, write
from conftest import BINARY, ENTRIES, PYTHON, ROOT, ridgeline

GOOD = Bad(entry(), "")


def refused(kind: str, *words: str, command: tuple[str, ...] = (), **environment: str) -> str:
    """Profiles without the table's defaults; the message, which must be of this kind."""
    done = ridgeline(*command, **environment)
    assert f"[{kind}]" in done.stderr and done.returncode == int(EXIT_CODES[kind]), done.stderr
    for expected in words:
        assert expected in done.stderr
    return done.stderr


@pytest.fixture
def good(tmp_path: Path) -> Path:
    write(GOOD, tmp_path / "project")
    return tmp_path / "project" / "entry.py"


def test_a_folder_is_no_entry(tmp_path: Path) -> None:
    refused("entry-unreadable", "is a folder", command=("profile", str(tmp_path)))


def test_an_entry_that_does_not_exist() -> None:
    refused("entry-unreadable", "There is no file none.py.", command=("profile", "none.py"))


def test_an_entry_that_is_no_python(good: Path) -> None:
    other = good.rename(good.with_suffix(".txt"))
    refused("entry-unreadable", "is not a Python file", command=("profile", str(other), "--python", PYTHON))


def test_an_entry_that_cannot_be_read(good: Path) -> None:
    good.chmod(0)
    user = 65534 if os.geteuid() == 0 else None  # an administrator may read everything
    try:
        good.parent.parent.chmod(0o755)
        done = subprocess.run(
            [BINARY, "profile", good], user=user, capture_output=True, text=True, cwd="/", check=False
        )
    except PermissionError as error:
        pytest.skip(f"another user cannot run the binary: {error}")
    assert done.returncode == 2 and "[entry-unreadable]" in done.stderr, done.stderr
    assert "cannot be read: Permission denied" in done.stderr


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f"cd {gone} && rmdir {gone} && exec {BINARY} profile entry.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "There is no file entry.py." in done.stderr, done.stderr


def test_relative_paths(good: Path, agent: Path) -> None:
    del agent
    (good.parent / "python").symlink_to(sys.executable)
    report = good.parent.parent / "report.json"
    done = subprocess.run(
        [BINARY, "profile", "../project/entry.py", "--python", PYTHON, "--project-root", ".", "--format"]
        + ["json", "--seconds", "0.1", "--output", "../report.json"],
        cwd=good.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(report.read_text())["entry"]["path"] == str(good)


@pytest.mark.parametrize("sizes", ["0", "-1", "8,x", "16777217"])
def test_batch_sizes_that_are_none(sizes: str, good: Path) -> None:
    assert ridgeline("profile", good, f"--batch-sizes={sizes}").returncode == 2


def test_an_interpreter_that_is_not_there(good: Path) -> None:
    refused("interpreter", "no/python", command=("profile", str(good), "--python", "no/python"))


def test_an_interpreter_that_is_none(good: Path) -> None:
    refused("worker-died", "ended by itself", command=("profile", str(good), "--python", "/bin/true"))


def test_an_interpreter_without_torch(good: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S: no site-packages
    python.chmod(0o755)
    refused("no-torch", "No module named 'torch'", "--python", command=("profile", str(good), "--python", str(python)))


def test_an_interpreter_in_a_wrapper_that_stays(good: Path, tmp_path: Path) -> None:
    """As `conda run python` does: the process that is started is not the one that runs the code."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n{sys.executable} "$@"\nexit $?\n')
    python.chmod(0o755)
    good.write_text(f"import time\ntime.sleep(3)\n{good.read_text()}")  # the process is looked at meanwhile
    done = ridgeline("profile", good, "--python", python, "--seconds", "0.1")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", ["raise RuntimeError('broken on purpose')", "raise SystemExit('broken on purpose')"])
def test_a_torch_that_does_not_import(words: str, good: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(words + "\n")
    command = ("profile", str(good), "--python", PYTHON)
    refused("no-torch", "broken on purpose", command=command, PYTHONPATH=str(tmp_path))


def compiler(folder: Path, script: str) -> str:
    """A compiler that is a script; `$output` is the file that it shall write."""
    program = folder / "compiler"
    find = 'for word; do [ "$last" = -o ] && output=$word; last=$word; done\n'
    program.write_text("#!/bin/sh\n" + find + script + "\n")
    program.chmod(0o755)
    return str(program)


def test_no_compiler(good: Path, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    command = ("profile", str(good), "--python", PYTHON)
    refused("no-compiler", "g++", "CXX", command=command, RIDGELINE_CACHE=cache, PATH=str(tmp_path), CXX="")


def test_a_compiler_that_fails(good: Path, tmp_path: Path) -> None:
    program = compiler(tmp_path, "echo 'error: on purpose' >&2; exit 1")
    command = ("profile", str(good), "--python", PYTHON)
    refused(
        "agent-build-failed", "error: on purpose", command=command, RIDGELINE_CACHE=str(tmp_path / "c"), CXX=program
    )
    assert list((tmp_path / "c" / "agents").iterdir()) == []


def test_an_agent_that_is_none_is_built_anew(good: Path, tmp_path: Path, agent: Path) -> None:
    cache = str(tmp_path / "cache")
    command = ("profile", str(good), "--python", PYTHON, "--seconds", "0.1")
    program = compiler(tmp_path, 'echo "no library" > "$output"')
    refused("agent-refused", "rebuilt next time", command=command, RIDGELINE_CACHE=cache, CXX=program)
    program = compiler(tmp_path, f'cp {agent} "$output"')
    assert ridgeline(*command, RIDGELINE_CACHE=cache, CXX=program).returncode == 0


@pytest.mark.parametrize("size", ["64k", "4m"])  # no room for the sources; for an agent
def test_a_full_disk(size: str, good: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    mount = f"mount -t tmpfs -o size={size},mode=700 none {cache}"
    possible = subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode == 0
    if not possible:
        pytest.skip("a small file system cannot be mounted here")
    program = compiler(tmp_path, 'head -c 8000000 /dev/zero > "$output"')
    profile = f"{BINARY} profile {good} --python {sys.executable}"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mount} && {profile}; code=$?; find {cache} -name '*.so'; exit $code"],
        capture_output=True,
        text=True,
        env={**os.environ, "RIDGELINE_CACHE": str(cache), "CXX": program},
        check=False,
    )
    assert done.returncode == 3 and "[cache]" in done.stderr and "RIDGELINE_CACHE" in done.stderr, done.stderr
    assert done.stdout == ""  # no agent is left there


def test_a_source_folder_that_is_read_only(good: Path, agent: Path) -> None:
    del agent
    mount = f"mount --bind -o ro {good.parent} {good.parent}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode != 0:
        pytest.skip("a folder cannot be mounted read-only here")
    profile = f"{BINARY} profile {good} --python {sys.executable} --seconds 0.1"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mount} && {profile}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_entry_that_deletes_its_folder(tmp_path: Path, agent: Path) -> None:
    del agent
    folder = tmp_path / "project"
    write(Bad(entry(provide="import shutil\nshutil.rmtree(os.path.dirname(__file__))"), ""), folder)
    done = ridgeline("profile", folder / "entry.py", "--python", PYTHON, "--seconds", "0.1")
    assert done.returncode == 0, done.stderr
    assert "entry.py:" in done.stdout


def test_two_first_profiles_of_one_entry_at_once(good: Path, tmp_path: Path, agent: Path) -> None:
    """Both build the agent, in one cache: neither disturbs the other."""
    program = compiler(tmp_path, f'sleep 0.2; cp {agent} "$output"')
    environment = {"RIDGELINE_CACHE": str(tmp_path / "cache"), "CXX": program}
    arguments = ("profile", good, "--python", PYTHON, "--seconds", "0.1", "--format", "json")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ridgeline, *arguments, **environment) for _ in range(2)]
    for one in both:
        done = one.result()
        assert done.returncode == 0, done.stderr
        assert "Building the agent" in done.stderr
        assert json.loads(done.stdout)["lines"]
    kept = sorted(file.name for file in (tmp_path / "cache" / "agents").rglob("*") if file.is_file())
    assert kept == [agent.name, agent.with_suffix(".sum").name]
    assert content(good.parent) == {"entry.py": entry().encode()}


def test_every_kind_that_the_runner_names_is_one_of_the_daemons() -> None:
    """The daemon's own come from one table, which tests/unit compares with docs/user/errors.md."""
    python = "\n".join(file.read_text() for file in (ROOT / "profiler" / "runner").rglob("*.py"))
    kinds = {
        *re.findall(r'\bFailure\(\s*"([a-z-]+)"', python),
        *re.findall(r'_wrong\(\s*[\w.]+,\s*"([a-z-]+)"', python),
        *re.findall(r'^ {4,8}return "([a-z]+(?:-[a-z]+)*)"$', python.split("def kind_of")[1].split("\ndef ")[0], re.M),
    }
    table = (ROOT / "protocol" / "failure_kind.cpp").read_text()
    assert len(kinds) > 10 and kinds <= set(re.findall(r'\{FailureKind::\w+, "([a-z-]+)"', table))


TORCHES = [("2.3.1", "torch-unsupported", "too old"), ("2.99.0", "agent-build-failed", "not with torch 2.99.0")]


@pytest.mark.parametrize(("version", "kind", "words"), TORCHES)
def test_a_torch_that_cannot_be_used_is_said_plainly(version: str, kind: str, words: str, tmp_path: Path) -> None:
    torch = tmp_path / "modules" / "torch"
    torch.mkdir(parents=True)
    (torch / "__init__.py").write_text(f"__version__ = {version!r}\ndef compiled_with_cxx11_abi(): return True\n")
    entry = ENTRIES / "layers" / "entry.py"
    cache, modules = str(tmp_path / "cache"), str(tmp_path / "modules")
    done = ridgeline("profile", entry, "--python", PYTHON, RIDGELINE_CACHE=cache, PYTHONPATH=modules)
    assert done.returncode == 3
    assert f"[{kind}]" in done.stderr and words in done.stderr and "2.4 to 2.15" in done.stderr
