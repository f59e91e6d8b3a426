"""The pages of options and of changes say what the program's help says."""

from __future__ import annotations

import os

from conftest import BINARY
from option_pages import REWRITE, pages


def test_pages_of_options_and_changes_are_those_of_the_program() -> None:
    for page, text in pages(BINARY).items():
        if os.environ.get("UPDATE_EXPECTED"):
            page.write_text(text)
        assert page.read_text() == text, f"{page.name} is not what --help says: run {REWRITE}"
