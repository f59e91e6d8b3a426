"""`ridgeline doctor`: right about an environment that works, and about each part that does not."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BINARY, ridgeline
from content_hash import content_hash

NAMES = ["interpreter", "torch", "agent", "compiler", "processor", "gpu", "scripts", "energy", "cache", "profiles"]


def rows(text: str) -> dict[str, tuple[str, str]]:
    """Name → (status, words) of the table, wrapped lines joined."""
    found: dict[str, tuple[str, str]] = {}
    name = ""
    for line in text.splitlines():
        if start := re.match(r"  (ok|note|FAIL) +([a-z]+) +(.*)$", line):
            name = start[2]
            found[name] = (start[1], start[3])
        elif line.startswith(" " * 21):
            found[name] = (found[name][0], f"{found[name][1]} {line.strip()}")
    return found


def doctor(*arguments: str | Path, expected: int = 3, **environment: str) -> dict[str, tuple[str, str]]:
    done = ridgeline("doctor", *arguments, **environment)
    assert done.returncode == expected, done.stdout + done.stderr
    found = rows(done.stdout)
    assert list(found) == NAMES
    failed = [name for name, (status, _) in found.items() if status == "FAIL"]
    assert ("All is well" in done.stdout) is (not failed) is (expected == 0)
    return found


def failures(found: dict[str, tuple[str, str]]) -> list[str]:
    return [name for name, (status, _) in found.items() if status == "FAIL"]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_all_is_well(agent: Path, tmp_path: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.write_text("raise SystemExit('doctor runs nothing of the user')\n")
    zone = tmp_path / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    for name, content in (("name", "package-0"), ("energy_uj", "7"), ("max_energy_range_uj", "262143328850")):
        (zone / name).write_text(content)
    found = doctor(entry, "--python", sys.executable, expected=0, RIDGELINE_POWERCAP=str(zone.parent))
    assert found["energy"] == ("ok", "counted of package-0")
    assert sys.executable in found["interpreter"][1] and "(--python)" in found["interpreter"][1]
    assert platform.python_version() in found["interpreter"][1]
    assert re.match(r"\d+\.\d+\.\d+", found["torch"][1])
    assert found["agent"] == ("ok", "in the cache, and loads")
    assert re.search(r"\d+\.\d+", found["compiler"][1])
    assert f"{len(os.sched_getaffinity(0))} cores" in found["processor"][1]
    assert str(agent.parents[2]) in found["cache"][1] and "GiB free" in found["cache"][1]


def test_says_why_an_interpreter_was_chosen(tmp_path: Path, empty: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    entry = tmp_path / "entry.py"
    entry.touch()
    done = ridgeline("doctor", entry, PATH=str(empty), CXX="")
    assert f"{python} (.venv of the project)" in rows(done.stdout)["interpreter"][1]


def test_no_python(tmp_path: Path, empty: Path) -> None:
    entry = tmp_path / "entry.py"
    entry.touch()
    found = doctor(entry, PATH=str(empty), VIRTUAL_ENV="", CXX="")
    assert failures(found) == ["interpreter", "compiler"]
    assert "--python" in found["interpreter"][1]
    assert found["torch"][0] == found["agent"][0] == "note"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 3", "exit code 3"),
        ("exec sleep 1000", "did not start within 2 s"),
        ("echo hello; kill -9 $$", "signal 9"),
    ],
)
def test_an_interpreter_that_does_not_start(script: str, words: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    found = doctor("--python", python, "--timeout", "2")
    assert failures(found) == ["interpreter"]
    assert words in found["interpreter"][1] and "--python" in found["interpreter"][1]


def python_without_packages(python: Path) -> Path:
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S: no site-packages
    python.chmod(0o755)
    return python


def test_python_without_torch(tmp_path: Path) -> None:
    python = python_without_packages(tmp_path / "python")
    found = doctor("--python", python)
    assert failures(found) == ["torch"]
    assert platform.python_version() in found["interpreter"][1]
    assert "No module named 'torch'" in found["torch"][1] and "--python" in found["torch"][1]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("pyproject.toml", '[tool.poetry]\nname = "project"\n', "poetry env info --executable"),
        ("pyproject.toml", "[tool.uv]\n", "uv sync"),
        ("uv.lock", "", "uv sync"),
        ("Pipfile", "", "pipenv --py"),
        ("environment.yml", "name: project\n", "conda activate"),
    ],
)
def test_says_where_the_tool_of_a_project_keeps_its_environment(
    file: str, text: str, words: str, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    python_without_packages(programs / "python3")
    project = tmp_path / "project"
    project.mkdir()
    entry = project / "train.py"
    entry.touch()
    (project / file).write_text(text)
    if not (project / "pyproject.toml").exists():
        (project / "pyproject.toml").touch()
    found = doctor(entry, PATH=f"{programs}:{os.environ['PATH']}", VIRTUAL_ENV="")
    assert failures(found) == ["torch"]
    assert words in " ".join(found["torch"][1].split())


def test_a_cache_from_which_nothing_can_be_loaded(tmp_path: Path) -> None:
    """Mounted noexec, as homes and temporary folders of clusters are."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    mounted = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o noexec,mode=700 none "$0" && exec "$@"', cache]
    if subprocess.run([*mounted, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    words = [*mounted, BINARY, "doctor", "--python", sys.executable]
    environment = {**os.environ, "RIDGELINE_CACHE": str(cache)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    found = rows(done.stdout)
    assert failures(found) == ["cache"]
    assert "noexec" in found["cache"][1] and "RIDGELINE_CACHE" in found["cache"][1]


def test_no_compiler_and_no_agent(tmp_path: Path, empty: Path) -> None:
    found = doctor("--python", sys.executable, PATH=str(empty), CXX="", RIDGELINE_CACHE=str(tmp_path / "cache"))
    assert failures(found) == ["agent", "compiler"]
    assert "g++" in found["agent"][1] and "g++" in found["compiler"][1]
    assert found["torch"][0] == "ok"


def test_no_compiler_is_a_note_while_the_agent_is_there(agent: Path, empty: Path) -> None:
    found = doctor("--python", sys.executable, PATH=str(empty), CXX="", expected=0)
    assert found["agent"][0] == "ok" and found["compiler"][0] == "note"


def test_a_compiler_that_does_not_run(tmp_path: Path) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho broken beyond repair >&2\nexit 1\n")
    compiler.chmod(0o755)
    found = doctor("--python", sys.executable, CXX=str(compiler), RIDGELINE_CACHE=str(tmp_path / "cache"))
    assert failures(found) == ["agent", "compiler"]
    assert "broken beyond repair" in found["agent"][1] and "CXX" in found["agent"][1]
    assert f"{compiler} does not run" in found["compiler"][1]


def test_an_agent_that_cannot_be_loaded_is_refused_and_built_anew(agent: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "cache" / "agents" / agent.parent.name / agent.name
    damaged.parent.mkdir(parents=True)
    (tmp_path / "cache").chmod(0o700)
    damaged.write_bytes(b"no library")
    damaged.with_suffix(".sum").write_text(f"10 {content_hash(b'no library')}\n")
    found = doctor("--python", sys.executable, RIDGELINE_CACHE=str(tmp_path / "cache"))
    assert failures(found) == ["agent"]
    assert "rebuilds the agent" in found["agent"][1]
    assert not damaged.exists()


@pytest.mark.parametrize("broken", ["a file", "a file on its way", "others can write"])
def test_a_cache_that_cannot_be_used(broken: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    if broken == "others can write":
        cache.mkdir()
        cache.chmod(0o777)
    else:
        cache.touch()
    where = cache / "below" if broken == "a file on its way" else cache
    found = doctor("--python", sys.executable, RIDGELINE_CACHE=str(where))
    assert failures(found) == ["cache"]
    assert "RIDGELINE_CACHE" in found["cache"][1] and str(where) in found["cache"][1]
    assert sys.executable in found["interpreter"][1]


def test_a_cache_that_cannot_be_written_to(agent: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"  # its own: torch wants temporary files, so the agent is refused and removed
    shutil.copytree(agent.parents[1], cache / "agents")
    cache.chmod(0o700)
    environment = {**os.environ, "RIDGELINE_CACHE": str(cache)}

    def no_file_may_grow() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run(
        [BINARY, "doctor", "--python", sys.executable],
        capture_output=True,
        text=True,
        env=environment,
        preexec_fn=no_file_may_grow,
        restore_signals=False,
        check=False,
    )
    assert done.returncode == 3
    assert "cannot be written to: File too large" in rows(done.stdout)["cache"][1]


def test_a_store_that_cannot_be_used(agent: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "profiles.sqlite").mkdir(parents=True)
    cache.chmod(0o700)
    (cache / "agents").symlink_to(agent.parents[1])
    found = doctor("--python", sys.executable, RIDGELINE_CACHE=str(cache))
    assert failures(found) == ["profiles"]
    assert "profiles.sqlite" in found["profiles"][1]


def test_a_missing_entry_is_a_usage_error(tmp_path: Path) -> None:
    done = ridgeline("doctor", tmp_path / "none.py")
    assert done.returncode == 2
    assert "none.py" in done.stderr and done.stdout == ""
