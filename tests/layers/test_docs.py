"""The documentation holds together: links and anchors resolve, pages can be reached from the index, merges ended."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "README.md"
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
FILES = [path for path in TRACKED if (ROOT / path).is_file()]
PAGES = [ROOT / path for path in FILES if path.endswith(".md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
SOURCE = re.compile(r"`((?:server|protocol|profiler|editors|examples|cmake|tests)/[\w./-]+)`")
MENTION = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md")


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


def links(page: Path) -> list[str]:
    return [link for link in LINK.findall(CODE.sub("", prose(page))) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def target(page: Path, link: str) -> Path:
    path = link.partition("#")[0]
    return (page.parent / path).resolve() if path else page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    for link in links(page):
        file = target(page, link)
        assert file.exists(), f"{link}: no such file"
        anchor = link.partition("#")[2]
        assert not anchor or anchor in anchors(file), f"{link}: no such heading"


def test_every_page_is_reachable() -> None:
    reached, pending = {INDEX}, [INDEX]
    while pending:
        page = pending.pop()
        found = {target(page, link) for link in links(page)} & set(PAGES) - reached
        reached |= found
        pending += found
    missing = [str(page.relative_to(ROOT)) for page in PAGES if (ROOT / "docs") in page.parents and page not in reached]
    assert not missing, "no page links to these"


def test_pages_name_files_that_exist() -> None:
    """With or without the suffix; `examples/NAME` and the like are places for a name."""
    stems = {path.rpartition(".")[0] for path in FILES}
    folders = {str(parent) for path in FILES for parent in Path(path).parents}
    for page in PAGES:
        for name in SOURCE.findall(page.read_text()):
            known = name in FILES or name in stems or name.rstrip("/") in folders
            assert known or re.search(r"[A-Z]{2}", name), f"{page.relative_to(ROOT)} names {name}, which does not exist"


def test_files_that_mention_a_page() -> None:
    """Comments, messages and scripts name pages by their path from the root."""
    for path in FILES:
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        for page in MENTION.findall(text):
            assert (ROOT / page).exists(), f"{path} mentions {page}, which does not exist"


def test_pages_stay_short() -> None:
    limits = {ROOT / "README.md": 120}
    limits |= {page: 150 for page in PAGES if page.is_relative_to(ROOT / "docs" / "dev" / "architecture")}
    limits[ROOT / "docs" / "dev" / "architecture.md"] = 150
    for page, limit in limits.items():
        count = len(page.read_text().splitlines())
        assert count <= limit, f"{page.relative_to(ROOT)} has {count} lines; split it"


def test_no_merge_is_unfinished() -> None:
    marked = re.compile(rb"^(<{7} |>{7} )", re.MULTILINE)
    assert not [path for path in FILES if marked.search((ROOT / path).read_bytes())]
