"""The pages of options and of changes say what the program's help says, and pages name options that there are."""

from __future__ import annotations

import os
import re

from conftest import BINARY, ROOT
from option_pages import REWRITE, commands, pages

# Commands on pages, in blocks or within sentences, to the end of the line or of the code.
SHOWN = re.compile(r"(?:^|`|\| )ridgeline ((?! )(?:(?!`|  #|$).)+)", re.MULTILINE)


def test_pages_of_options_and_changes_are_those_of_the_program() -> None:
    for page, text in pages(BINARY).items():
        if os.environ.get("UPDATE_EXPECTED"):
            page.write_text(text)
        assert page.read_text() == text, f"{page.name} is not what --help says: run {REWRITE}"


def test_pages_name_commands_and_options_that_there_are() -> None:
    known = {each.words: {row.name for group in each.groups.values() for row in group} for each in commands(BINARY)}
    wrong = []
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for shown in SHOWN.findall(page.read_text()):
            words = shown.split(" -- ")[0].split()
            command = max((each for each in known if tuple(words[: len(each)]) == each), key=len)
            if re.fullmatch("[a-z][a-z-]+", words[0]) and not command and words[0] not in ("guard", "relay"):
                wrong.append(f"{page.name}: ridgeline {shown}")
            script = next((i for i, word in enumerate(words) if command == ("profile",) and word == "train.py"), None)
            options = {word.partition("=")[0] for word in words[:script] if word.startswith("--")}
            unknown = options - known[command] - {"--help", "--version"}
            wrong += [f"{page.name}: ridgeline {shown}: {option}" for option in sorted(unknown)]
    assert not wrong, "\n".join(wrong)
