"""The wheel and the tarball: what is in them, and that what they install works."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from conftest import BINARY, ROOT, only, pack, run

SHORT = ("--seconds", "0.1", "--batch-sizes", "2,4")


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


def lend_torch(environment: Path) -> None:
    """As a checkout of torch that is installed in editable mode: its metadata, and the path to all of its packages."""
    ours = Path(sysconfig.get_path("purelib"))
    packages = only(environment, "lib/python3*/site-packages")
    metadata = only(ours, "torch-*.dist-info")
    (packages / metadata.name).symlink_to(metadata)
    (packages / "lent.pth").write_text(f"{ours}\n")


# ---- what is in the packages


def test_packing_again_gives_the_same_bytes_in_place_of_what_was_there(packed: Path, tmp_path: Path) -> None:
    for name in ("ridgeline-0.0.1-py3-none-any.whl", "ridgeline-0.0.1-linux-x86_64.tar.gz"):
        (tmp_path / name).touch()
    before = os.umask(0o077)
    try:
        pack(tmp_path)
    finally:
        os.umask(before)
    for pattern in ("*.whl", "*.tar.gz"):
        one, other = only(packed, pattern), only(tmp_path, pattern)
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes(), pattern


def test_the_wheel_is_for_the_platform_of_torch(wheel: Path) -> None:
    """auditwheel looks at libraries: the program needs none."""
    assert wheel.name.endswith(f"-py3-none-manylinux_2_28_{os.uname().machine}.whl")
    needed = run("readelf", "--wide", "--dynamic", "--program-headers", BINARY)
    assert "(NEEDED)" not in needed and "INTERP" not in needed


# Of manylinux_2_28, which torch's packages are made for: RHEL 8 has these.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}


def test_an_agent_needs_no_newer_libraries_than_torch(entry: Path) -> None:
    run(BINARY, "doctor", entry, "--python", sys.executable)
    listed = run(BINARY, "agent", "list").splitlines()
    rows = zip(listed[::2], listed[1::2], strict=True)
    agents = [path.strip() for about, path in rows if "another version" not in about]
    checked = 0
    for agent in agents:
        if "san.so" not in run("readelf", "--wide", "--dynamic", agent):
            needed = run("readelf", "--wide", "--version-info", agent)
            for library, newest in NEWEST.items():
                versions = re.findall(rf"\b{library}_(\d[\d.]*)", needed)
                assert versions and max(tuple(map(int, one.split("."))) for one in versions) <= newest, agent
            checked += 1
    assert checked > 0, listed


def test_a_package_with_agents_needs_no_compiler(pip: Callable[..., str], entry: Path, tmp_path: Path) -> None:
    run(BINARY, "doctor", entry, "--python", sys.executable)  # builds the agent where there is none
    run(BINARY, "agent", "export", tmp_path / "packed" / "agents")
    pack(tmp_path / "packed")
    pip("install", only(tmp_path / "packed", "*.whl"))
    program = tmp_path / "environment" / "bin" / "ridgeline"
    cache = tmp_path / "cache"
    nothing = {"RIDGELINE_CACHE": str(cache), "CXX": "/nowhere/c++", "PATH": str(tmp_path)}
    assert "throughput" in run(program, "profile", entry, "--python", sys.executable, *SHORT, **nothing)
    assert not (cache / "agents").exists()
    assert "came with Ridgeline" in run(program, "agent", "list", **nothing)
    assert "came with Ridgeline, and loads" in run(program, "doctor", "--python", sys.executable, **nothing)
    # Elsewhere they are named.
    named = {**nothing, "RIDGELINE_AGENTS": str(tmp_path / "packed" / "agents")}
    assert "throughput" in run(BINARY, "profile", entry, "--python", sys.executable, *SHORT, **named)


def test_the_wheel_is_the_program_with_its_licences(wheel: Path, version: str) -> None:
    assert wheel.name.startswith(f"ridgeline-{version}-")
    with zipfile.ZipFile(wheel) as archive:
        script, information = f"ridgeline-{version}.data/scripts", f"ridgeline-{version}.dist-info"
        licences = [f"{information}/licenses/{name}" for name in ("LICENSE", "THIRD_PARTY_LICENSES")]
        expected = [f"{script}/ridgeline", *(f"{information}/{name}" for name in ("METADATA", "RECORD", "WHEEL"))]
        assert sorted(archive.namelist()) == sorted(expected + licences)
        assert archive.read(f"{script}/ridgeline") == BINARY.read_bytes()
        assert archive.read(licences[0]) == (ROOT / "LICENSE").read_bytes()
        assert "Copyright" in archive.read(licences[1]).decode()
        metadata = archive.read(f"{information}/METADATA").decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Dist" not in metadata  # torch is the user's


# ---- pip


def test_pip_installs_it_and_leaves_nothing_when_it_uninstalls_it(
    wheel: Path, version: str, pip: Callable[..., str], tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    before = files(environment)
    pip("install", wheel)
    assert run(environment / "bin" / "ridgeline", "--version").strip() == version
    assert f"ridgeline {version}" in " ".join(pip("list").split())
    pip("uninstall", "--yes", "ridgeline")
    assert files(environment) == before


def test_the_code_runs_in_the_environment_that_it_is_installed_in(
    wheel: Path, pip: Callable[..., str], entry: Path, tmp_path: Path
) -> None:
    """Also when it is called by its path, and that environment is not active."""
    environment = tmp_path / "environment"
    pip("install", wheel)
    lend_torch(environment)
    used = entry.with_name("used")
    entry.write_text(f"import sys\nopen({str(used)!r}, 'w').write(sys.executable)\n" + entry.read_text())
    report = run(environment / "bin" / "ridgeline", "profile", entry, *SHORT)
    assert "throughput" in report
    assert used.read_text() == str(environment / "bin" / "python")


def test_an_environment_without_torch_is_a_tools_own(
    wheel: Path, pip: Callable[..., str], entry: Path, tmp_path: Path
) -> None:
    """As pipx and uv make them: a link on the path leads to it, and the code runs elsewhere."""
    pip("install", wheel)
    path = tmp_path / "bin"
    path.mkdir()
    (path / "ridgeline").symlink_to(tmp_path / "environment" / "bin" / "ridgeline")
    (path / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (path / "python3").chmod(0o755)
    report = run(path / "ridgeline", "doctor", entry, PATH=f"{path}:{os.environ['PATH']}")
    assert f"{path / 'python3'} (PATH)" in " ".join(report.split())


# ---- the tarball


def test_the_tarball_works_where_it_is_unpacked(packed: Path, version: str, entry: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a folder with blanks"
    with tarfile.open(only(packed, "*.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    assert unpacked.name == f"ridgeline-{version}-linux-{os.uname().machine}"
    assert {path.name for path in unpacked.iterdir()} == {
        "LICENSE", "README.md", "THIRD_PARTY_LICENSES", "bin", "editors"
    }  # fmt: skip
    assert run(unpacked / "bin" / "ridgeline", "--version").strip() == version
    assert "throughput" in run(unpacked / "bin" / "ridgeline", "profile", entry, "--python", sys.executable, *SHORT)
    for editor in ("emacs", "helix", "neovim"):
        packed_files = {path.relative_to(unpacked) for path in files(unpacked / "editors" / editor)}
        assert packed_files == {path.relative_to(ROOT) for path in files(ROOT / "editors" / editor)} - {
            Path("editors/neovim/doc/tags")
        }
