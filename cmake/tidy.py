"""tidy.py ROOT BUILD: clang-tidy on every C++ file of ours that BUILD/compile_commands.json compiles.

A file that passed is not looked at again until it, a header of ours that it includes, its command, .clang-tidy or
clang-tidy changes: BUILD/tidy has an empty file per pass, named by the hash of all these.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

CLANG_TIDY = "clang-tidy-14"
# The compiler's own warnings are GCC's to give: clang would add others, and does not know all flags. The analyzer may
# spend a quarter of its usual effort on one function: it took two thirds of the time, most of it inside of libraries.
ARGUMENTS = ["-w", "-Xclang", "-analyzer-config", "-Xclang", "max-nodes=50000"]
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)

FINDING = re.compile(r"^(\S.*?):\d+:\d+: (?:error|warning): .* \[([^\]\n]+)\]$", re.MULTILINE)


@cache
def direct_includes(file: Path, root: Path) -> tuple[Path, ...]:
    names = [name.decode() for name in INCLUDE.findall(file.read_bytes())]
    folders = (root, root / "server", file.parent)
    return tuple(folder / name for name in names for folder in folders if (folder / name).is_file())


def with_includes(file: Path, root: Path) -> list[Path]:
    seen: set[Path] = set()
    waiting = [file]
    while waiting:
        current = waiting.pop().resolve()
        if current not in seen:
            seen.add(current)
            waiting.extend(direct_includes(current, root))
    return sorted(seen)


def fingerprint(file: Path, command: str, root: Path, tool: str) -> str:
    digest = hashlib.sha256(f"{tool}\n{command}\n".encode())
    for part in [root / ".clang-tidy", Path(__file__), *with_includes(file, root)]:
        digest.update(f"{part}\n".encode() + hashlib.sha256(part.read_bytes()).digest())
    return digest.hexdigest()


def tidy(file: Path, build: Path, root: Path) -> str:
    """What clang-tidy complains about; empty when nothing. The analyzer also follows calls into libraries and reports
    what it suspects there: that is left out."""
    extra = [f"--extra-arg={argument}" for argument in ARGUMENTS]
    command = [CLANG_TIDY, "--quiet", "-p", str(build), *extra, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    findings = FINDING.findall(done.stdout)
    ours = [place for place, check in findings if not check.startswith("clang-analyzer-") or in_tree(place, root)]
    return "" if done.returncode == 0 or (findings and not ours) else done.stdout + done.stderr


def in_tree(place: str, root: Path) -> bool:
    return Path(place).resolve().is_relative_to(root)


def main() -> int:
    root, build = (Path(argument).resolve() for argument in sys.argv[1:3])
    passes = build / "tidy"
    passes.mkdir(exist_ok=True)
    tool = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    entries = json.loads((build / "compile_commands.json").read_text())
    ours = {Path(entry["file"]): entry["command"] for entry in entries if not Path(entry["file"]).is_relative_to(build)}
    if not ours:
        print("clang-tidy: found no files to look at")
        return 1
    marks = {file: passes / fingerprint(file, command, root, tool) for file, command in ours.items()}
    for old in set(passes.iterdir()) - set(marks.values()):
        old.unlink()

    def look(file: Path) -> bool:
        complaint = tidy(file, build, root)
        if complaint:
            print(f"{file.relative_to(root)}:\n{complaint}", flush=True)
        else:
            marks[file].touch()
        return not complaint

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(look, [file for file, mark in marks.items() if not mark.exists()]))
    print(f"clang-tidy: {len(marks)} files, {len(results)} of them looked at, {results.count(False)} with findings")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
