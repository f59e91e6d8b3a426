"""Packs the program for installation elsewhere. The same input gives the same bytes.

    pack.py PROGRAM FOLDER

makes in FOLDER, in place of what an earlier call made there:

    ridgeline-VERSION-py3-none-manylinux_2_28_MACHINE.whl   for pip, pipx and uv
    ridgeline-VERSION-linux-MACHINE.tar.gz                  the program and the editors' plugins, for everything else

Both have the licences of the libraries that are linked into the program, and the agents in FOLDER/agents, where
agents.py made some. The environment variable SOURCE_DATE_EPOCH,
which has to be set, is the time of all files.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from licenses import OF_THE_PROGRAM, licenses

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of an ELF file


def machine_of(program: Path) -> str:
    """What the program was compiled for, which may be another machine than this one."""
    with program.open("rb") as file:
        return MACHINES[int.from_bytes(file.read(20)[18:], "little")]


def version_of(program: Path) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def lay_out(folder: Path, program: Path, agents: Path) -> None:
    """What both packages have."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    shutil.copyfile(program, folder / "bin" / "ridgeline")
    (folder / "bin" / "ridgeline").chmod(0o755)
    for file in (ROOT / "LICENSE", HERE / "README.md"):
        shutil.copyfile(file, folder / file.name)
    (folder / "THIRD_PARTY_LICENSES").write_text(licenses(OF_THE_PROGRAM))
    if agents.exists():
        shutil.copytree(agents, folder / "lib" / "ridgeline" / "agents")


def make_wheel(program: Path, folder: Path) -> None:
    source = folder / "packages" / "wheel"
    lay_out(source, program, folder / "agents")
    for name in ("pyproject.toml", "wheel_tag.py"):
        shutil.copyfile(HERE / name, source / name)
    agents = sorted(path.relative_to(source) for path in (source / "lib").rglob("*") if path.is_file())
    if agents:  # where the program looks for them: in ../lib/ridgeline/agents
        with (source / "pyproject.toml").open("a") as project:
            project.write("\n[tool.hatch.build.targets.wheel.shared-data]\n")
            project.writelines(f'"{agent}" = "{agent}"\n' for agent in agents)
    environment = {
        "RIDGELINE_VERSION": version_of(program),
        # As torch's own packages: the program runs anywhere, the agents where torch does.
        "RIDGELINE_PLATFORM": f"manylinux_2_28_{machine_of(program)}",
    }
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(command, cwd=source, env={**os.environ, **environment}, check=True)


def make_archive(program: Path, folder: Path) -> None:
    name = f"ridgeline-{version_of(program)}-linux-{machine_of(program)}"
    source = folder / "packages" / "archive"
    lay_out(source, program, folder / "agents")
    for editor in ("emacs", "helix", "neovim"):
        generated = shutil.ignore_patterns("tags")  # of Neovim's help
        shutil.copytree(ROOT / "editors" / editor, source / "editors" / editor, ignore=generated)
    time = int(os.environ["SOURCE_DATE_EPOCH"])

    def normalised(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = time, 0, 0, "", ""
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with (
        (folder / f"{name}.tar.gz").open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=time) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        archive.add(source, name, filter=normalised)  # folders are read in order of their names


def main(program: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("ridgeline-*.whl"), *folder.glob("ridgeline-*.tar.gz")):
        old.unlink()
    make_wheel(program, folder)
    make_archive(program, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
