"""tidy.py ROOT BUILD [--shipped]: clang-tidy on every C++ file of ours that BUILD/compile_commands.json compiles, and
on the agent's, for the torch of the interpreter that runs this; or on those that are shipped: not the tests.

Most of the time goes into what files include, so several files are looked at as one: written one after the other into
BUILD/tidy/N.cpp, where they have to get along without two things of one name. Those that do not are looked at alone.

A file that passed is not looked at again until it, a header of ours that it includes, its command, .clang-tidy or
clang-tidy changes: BUILD/tidy/passed has an empty file per pass, named by the hash of all these.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

CLANG_TIDY = "clang-tidy-16"
# The compiler's own warnings are GCC's to give: clang would add others, and does not know all flags. The analyzer may
# spend a quarter of its usual effort on one function: it took two thirds of the time, most of it inside of libraries.
ARGUMENTS = ["-w", "-Xclang", "-analyzer-config", "-Xclang", "max-nodes=50000"]
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
ANY_INCLUDE = re.compile(r"#include\s+\S+")
FLAGS = ("-D", "-I", "-O", "-U", "-std=")
FILES_AT_ONCE = 8

# What a file declares outside of functions and classes: types, functions and variables, macros, tests.
DECLARATION = re.compile(
    r"^(?:class|struct|union|enum(?: class)?) (\w+)"
    r"|^(?!TEST|INSTANTIATE|using|namespace|static_assert)[A-Za-z_][^(={;\n]*?(?<![:\w])(\w+)(?=[({\[=]| =)"
    r"|^# *define (\w+)"
    r"|^((?:TEST|INSTANTIATE)\w*\(\w+, *\w+)",
    re.MULTILINE,
)
PLACE = r"^(\S.*?):(\d+):(\d+): "
FINDING = re.compile(PLACE + r"(?:error|warning): .* \[([^\]\n]+)\]$", re.MULTILINE)


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


def declared(file: Path) -> set[str]:
    return {next(filter(None, match.groups())) for match in DECLARATION.finditer(file.read_text())}


@dataclass
class Batch:
    """Files that are looked at as one, with the flags that they share."""

    flags: tuple[str, ...]
    files: list[Path] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def takes(self, flags: tuple[str, ...], names: set[str]) -> bool:
        return self.flags == flags and len(self.files) < FILES_AT_ONCE and not names & self.names


def batches_of(flags: dict[Path, tuple[str, ...]]) -> list[Batch]:
    """Each file goes into the first batch that takes it; those that declare the most, and so fit worst, go first."""
    batches: list[Batch] = []
    names = {file: declared(file) for file in flags}
    for file in sorted(flags, key=lambda file: (-len(names[file]), file)):
        fitting = (batch for batch in batches if batch.takes(flags[file], names[file]))
        batch = next(fitting, None)
        if batch is None:
            batch = Batch(flags[file])
            batches.append(batch)
        batch.files.append(file)
        batch.names |= names[file]
    return batches


def join(files: list[Path]) -> tuple[str, list[tuple[Path, int]]]:
    """The files one after the other, and of each line the place that it came from."""
    lines: list[str] = []
    places: list[tuple[Path, int]] = []
    included: set[str] = set()
    for file in files:
        own: set[str] = set()
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = ANY_INCLUDE.match(line)
            # What another file includes too is no duplicate; what this file includes twice is.
            again = include is not None and include[0] in included and include[0] not in own
            if include:
                own.add(include[0])
            lines.append("" if again else line)
            places.append((file, number))
        included |= own
    return "\n".join(lines) + "\n", places


def tidy(joined: Path, files: list[Path], flags: tuple[str, ...], root: Path) -> str:
    """What clang-tidy complains about; empty when nothing. The analyzer also follows calls into libraries and reports
    what it suspects there: that is left out."""
    text, places = join(files)
    joined.write_text(text)
    extra = [f"--extra-arg={argument}" for argument in ARGUMENTS]
    beside = [f"-iquote{folder}" for folder in sorted({file.parent for file in files})]
    # Paths through the tests are walked by the sanitizers, which run them; the analyzer took two thirds of their time.
    checks = ["--checks=-clang-analyzer-*"] if all(file.is_relative_to(root / "tests") for file in files) else []
    command = [CLANG_TIDY, "--quiet", *checks, *extra, str(joined), "--", *flags, *beside]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    findings = [(place, check) for place, _, _, check in FINDING.findall(done.stdout)]
    if len(files) > 1 and any(check == "clang-diagnostic-error" for _, check in findings):
        return "".join(tidy(joined, [file], flags, root) for file in files)
    ours = [place for place, check in findings if not check.startswith("clang-analyzer-") or in_tree(place, root)]

    def moved(match: re.Match[str]) -> str:
        file, line = places[int(match[2]) - 1]
        return f"{file.relative_to(root)}:{line}:{match[3]}: "

    words = re.sub(PLACE.replace(r"(\S.*?)", f"({re.escape(str(joined))})"), moved, done.stdout, flags=re.MULTILINE)
    return "" if done.returncode == 0 or (findings and not ours) else words + done.stderr


def in_tree(place: str, root: Path) -> bool:
    return Path(place).resolve().is_relative_to(root)


def flags_of(command: str) -> tuple[str, ...]:
    """The flags that say how a file is read, of a command as CMake writes it."""
    words = shlex.split(command)
    kept = []
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if word == "-isystem":
            kept += [word, value]
        elif word.startswith(FLAGS):
            kept.append(word)
    return tuple(kept)


def sources_of(compiled: Path) -> list[Path]:
    """The files that CMake compiles as this one: itself, or the group that it is made of (a unity build)."""
    if compiled.parent.name != "Unity":
        return [compiled]
    return [compiled.parent / name.decode() for name in INCLUDE.findall(compiled.read_bytes())]


def agent_commands(root: Path) -> dict[Path, str]:
    """How server/worker/agent_build.cpp has the agent's files compiled, as far as clang-tidy is concerned."""
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        sys.exit("clang-tidy: the agent's files need torch in this Python")
    headers = Path(torch.submodule_search_locations[0]) / "include"
    system = [headers, headers / "torch" / "csrc" / "api" / "include", sysconfig.get_paths()["include"]]
    flags = ["-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=1", '-DRIDGELINE_TORCH_VERSION="any"', f"-I{root}"]
    command = shlex.join(["c++", *flags, *(word for folder in system for word in ("-isystem", str(folder)))])
    return dict.fromkeys((root / "profiler" / "agent").rglob("*.cpp"), command)


def main() -> int:
    root, build = (Path(argument).resolve() for argument in sys.argv[1:3])
    folder, passes = build / "tidy", build / "tidy" / "passed"
    passes.mkdir(exist_ok=True, parents=True)
    tool = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    entries = json.loads((build / "compile_commands.json").read_text())
    compiled = {file: entry["command"] for entry in entries for file in sources_of(Path(entry["file"]))}
    commands = agent_commands(root) | compiled  # a part of the agent is compiled for the unit tests, too
    ours = {file: text for file, text in commands.items() if file.suffix == ".cpp" and not file.is_relative_to(build)}
    if not ours:
        print("clang-tidy: found no files to look at")
        return 1
    marks = {file: passes / fingerprint(file, command, root, tool) for file, command in ours.items()}
    for old in set(passes.iterdir()) - set(marks.values()):
        old.unlink()
    left_out = root / "tests" if "--shipped" in sys.argv[3:] else build
    wanted = {file: mark for file, mark in marks.items() if not file.is_relative_to(left_out)}
    batches = batches_of({file: flags_of(ours[file]) for file, mark in wanted.items() if not mark.exists()})

    def look(number: int) -> bool:
        batch = batches[number]
        complaint = tidy(folder / f"{number}.cpp", batch.files, batch.flags, root)
        if complaint:
            print(complaint, flush=True)
        else:
            for file in batch.files:
                marks[file].touch()
        return not complaint

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(look, range(len(batches))))
    looked = sum(len(batch.files) for batch in batches)
    print(f"clang-tidy: {len(wanted)} files, {looked} of them looked at, {results.count(False)} batches with findings")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
