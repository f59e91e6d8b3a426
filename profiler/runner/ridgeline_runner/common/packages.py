"""Where the code of imported packages is, by the names that `import` knows them by."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

_MOST_PLACES = 128


def describe_package(name: str) -> dict[str, Any]:
    """What the daemon is told of a package: whether it is imported, where its Python code is and, of one that is not, a
    similar name that is. NamedPackage of protocol/worker_messages.h."""
    imported = name in sys.modules
    tops = {module.partition(".")[0] for module in list(sys.modules)}
    similar = [] if imported else difflib.get_close_matches(name, sorted(tops), 1)
    return {
        "name": name,
        "imported": imported,
        "places": _places(name)[:_MOST_PLACES],
        "similar": similar[0] if similar else "",
    }


def places_of(names: Sequence[str]) -> list[str]:
    """The folders and files of all these packages."""
    return list(dict.fromkeys(place for name in names for place in _places(name)))


def _places(name: str) -> list[str]:
    """A package's folders, of which a namespace package has several, or a module's file: as its code objects name them,
    and as they are without symbolic links. None where the module is not imported, or is no Python code."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    folders = [folder for folder in _strings(getattr(module, "__path__", ())) if os.path.isdir(folder)]
    if not folders and isinstance(file, str) and file.endswith(".py"):
        folders = [file]
    absolute = [os.path.abspath(folder) for folder in folders]
    return list(dict.fromkeys([*absolute, *map(os.path.realpath, absolute)]))


def _strings(values: Any) -> Iterable[str]:
    try:
        return [value for value in values if isinstance(value, str)]
    except Exception:  # noqa: BLE001 - the module's own object
        return []
