"""The user's files that a run has imported: a profile is valid while they do not change."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence

_MAX_FILES = 4096
_MAX_PATH = 4096
# With startup/, of `ridgeline profile`.
_RUNNER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")

_real_paths: dict[str, str] = {}  # of the modules of the fork server: resolving them all takes some 40 ms


def remember_modules() -> None:
    """Remembers the real paths of the modules that are loaded. To be called before user code is imported."""
    for path in _files_of(list(sys.modules)):
        if path not in _real_paths:
            _real_paths[path] = os.path.realpath(path)


def imported_files(
    project_root: str, environment_roots: list[str], entry: str, places: Sequence[str] = ()
) -> tuple[list[str], bool]:
    """The entry file, the files of sys.modules that no environment holds, and the one with torch's version. Those in
    `places`, folders and files, are among them in any case.

    False with them when there are more than 4096, or a path that is too long or no UTF-8: then some are missing.
    """
    roots = [root for root in environment_roots if not holds(root, project_root)]
    # Some versions of torch.distributed import a module that they write into a folder which goes with the process.
    instantiator = sys.modules.get("torch.distributed.nn.jit.instantiator")
    generated = getattr(instantiator, "INSTANTIATED_TEMPLATE_DIR_PATH", None)
    if isinstance(generated, str):
        roots.append(os.path.realpath(generated))
    # torch compiles modules into a cache of its own; they follow from the user's files.
    files = dict.fromkeys([entry, *_files_of(name for name in list(sys.modules) if not _is_of_torch(name))])
    own = [
        path
        for path in files
        if any(holds(place, path) for place in places)
        or not (
            _is_of_standard_library(path) or _is_of_environment(_real_paths.get(path) or os.path.realpath(path), roots)
        )
    ]
    own += _files_of(["torch.version"])
    named = [path for path in own if _can_be_named(path)]
    return named[:_MAX_FILES], len(own) == len(named) <= _MAX_FILES


def _files_of(names: Iterable[str]) -> list[str]:
    files = (getattr(sys.modules.get(name), "__file__", None) for name in names)
    return [
        file if file in _real_paths else os.path.abspath(file)
        for file in files
        if isinstance(file, str) and (file in _real_paths or os.path.isfile(file))
    ]


def _is_of_torch(name: str) -> bool:
    return name.partition(".")[0] == "torch"


def _is_of_standard_library(path: str) -> bool:
    """As it is named: Debian links its sitecustomize.py there from /etc."""
    return holds(_STANDARD_LIBRARY, path) and "-packages/" not in path


def _is_of_environment(path: str, roots: list[str]) -> bool:
    if "/site-packages/" in path or "/dist-packages/" in path:
        return True
    agent = getattr(sys.modules.get("_ridgeline_agent"), "__file__", None)
    return path == agent or any(holds(root, path) for root in [_RUNNER, *roots])


def holds(folder: str, path: str) -> bool:
    """Whether `path` is `folder` or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _can_be_named(path: str) -> bool:
    try:
        return len(path.encode()) <= _MAX_PATH
    except UnicodeEncodeError:
        return False
