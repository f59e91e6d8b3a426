"""The packages of the runner are layers, as the folders of the server are: which may import which, without circles."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import pytest

RUNNER = Path(__file__).resolve().parents[2] / "profiler" / "runner"
PACKAGE = "ridgeline_runner"

# Package → those that it may import. "" is the process itself: the fork server and the run.
LAYERS = {
    "common": [],
    "machine": ["common"],
    "cuda": ["common"],
    "measure": ["common", "machine", "cuda"],
    "step": ["common", "machine", "cuda", "measure"],
    "changes": ["common", "machine", "cuda", "measure", "step"],
    "script": ["common", "machine", "step", "changes"],
    "": ["common", "machine", "cuda", "measure", "step", "changes"],
}


def modules() -> dict[str, str]:
    """Module → its source."""
    return {
        ".".join(file.relative_to(RUNNER).with_suffix("").parts).removesuffix(".__init__"): file.read_text()
        for file in (RUNNER / PACKAGE).rglob("*.py")
    }


def imported(source: str, names: dict[str, str], *, everywhere: bool) -> set[str]:
    """The modules of ours that a source imports: at its head, or in its functions too."""
    tree = ast.parse(source)
    found = set()
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in names else str(node.module) for name in whole}
    return found


def package_of(module: str) -> str:
    return ".".join(module.split(".")[1:-1])


def problems(files: dict[str, str]) -> list[str]:
    return [
        f"{module} may not import {target}"
        for module, source in files.items()
        for target in sorted(imported(source, files, everywhere=True))
        if package_of(target) != package_of(module) and package_of(target) not in LAYERS[package_of(module)]
    ]


def test_each_package_imports_those_below() -> None:
    assert problems(modules()) == []


def test_no_modules_import_each_other() -> None:
    files = modules()
    graph = {module: imported(source, files, everywhere=False) - {module} for module, source in files.items()}
    list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("step.a", "from ridgeline_runner.measure import operation_key", ""),
        ("measure.a", "from ridgeline_runner.step.entry import load", "ridgeline_runner.step.entry"),
        ("changes.a", "def f():\n    from ridgeline_runner.script import run", "ridgeline_runner.script.run"),
        ("common.a", "from ridgeline_runner import fork_server", "ridgeline_runner.fork_server"),
    ],
)
def test_the_checker_finds(module: str, source: str, expected: str) -> None:
    found = problems(modules() | {f"{PACKAGE}.{module}": source})
    assert found == ([f"{PACKAGE}.{module} may not import {expected}"] if expected else [])
