"""A project whose model and loss come from packages: in an environment, of one file, of two folders, and editable."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from conftest import ENTRIES, line_of


@dataclass
class LibraryProject:
    folder: Path

    @property
    def entry(self) -> Path:
        return self.folder / "project" / "entry.py"

    @property
    def net(self) -> Path:
        return self.installed("nets/net.py")

    def installed(self, name: str) -> Path:
        return self.folder / "project" / "env" / "site-packages" / name

    @property
    def editable(self) -> Path:
        return self.folder / "editable" / "losses.py"

    def place(self, file: Path, mark: str) -> tuple[str, int]:
        """File and line as the report has them, of the line that ends with the comment `# mark`."""
        root = self.folder / "project"
        return (str(file.relative_to(root) if file.is_relative_to(root) else file), line_of(file, mark))


def library_project(folder: Path) -> LibraryProject:
    shutil.copytree(ENTRIES / "library", folder / "library", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "library" / "project" / "pyproject.toml").write_text("")
    return LibraryProject((folder / "library").resolve())
