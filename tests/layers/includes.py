"""includes.py [COMMIT]: draws which room includes which, of the working tree or of a commit, as a Mermaid graph.

An arrow that follows from others is left out: where A includes B and B includes C, A may include C too.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("protocol", "server", "profiler")
# The quoted name, or the one in <>.
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


@functools.cache
def files_of(commit: str | None) -> dict[str, str]:
    """Path → text of the C++ files below FOLDERS."""
    if commit is None:
        paths = [
            path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in {".h", ".cpp"}
        ]
        return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout

    names = git("ls-tree", "-r", "--name-only", commit, "--", *FOLDERS).splitlines()
    return {name: git("show", f"{commit}:{name}") for name in names if name.endswith((".h", ".cpp"))}


def resolve(name: str, source: str, files: Collection[str]) -> str | None:
    """The file of ours that the include names: from the root, from server/, or from the includer's own folder."""
    candidates = [name, f"server/{name}", f"{folder_of(source)}/{name}"]
    return next((candidate for candidate in candidates if candidate in files), None)


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def room_of(path: str) -> str:
    """`server/analysis` for all that is below it, `protocol`, `profiler/agent`."""
    parts = folder_of(path).split("/")
    return "/".join(parts[:2])


def includes(files: dict[str, str], place: Callable[[str], str] = folder_of) -> dict[str, set[str]]:
    """Folder → the other folders that its files include something of; or room → rooms."""
    found: dict[str, set[str]] = defaultdict(set)
    for source, text in files.items():
        for name, _ in INCLUDE.findall(text):
            target = resolve(name, source, files)
            if target is not None and place(target) != place(source):
                found[place(source)].add(place(target))
    return found


def reachable(graph: dict[str, set[str]], begin: str, without: tuple[str, str] | None = None) -> set[str]:
    """What can be reached from a folder, by arrows other than `without`."""
    seen, waiting = set(), [begin]
    while waiting:
        folder = waiting.pop()
        for other in graph.get(folder, set()):
            if (folder, other) != without and other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def drawing(files: dict[str, str]) -> str:
    graph = includes(files, room_of)
    arrows = [(folder, other) for folder in sorted(graph) for other in sorted(graph[folder])]
    needed = [arrow for arrow in arrows if arrow[1] not in reachable(graph, arrow[0], arrow)]
    lines = [
        f"  {folder.replace('/', '_')}[{folder}] --> {other.replace('/', '_')}[{other}]" for folder, other in needed
    ]
    return "\n".join(["graph TD", *lines, ""])


if __name__ == "__main__":
    sys.stdout.write(drawing(files_of(sys.argv[1] if len(sys.argv) > 1 else None)))
