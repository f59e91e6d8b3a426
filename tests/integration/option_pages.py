"""docs/user/options.md and docs/user/changes.md, from the help of the program and from its list of changes.

`python tests/integration/option_pages.py BINARY` writes them; test_option_pages.py fails where they differ from it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parents[2] / "docs" / "user"
REWRITE = "python tests/integration/option_pages.py build/bin/ridgeline"
HEAD = f"<!-- Written by `{REWRITE}`. Do not edit. -->\n"
COMMON_FROM = 3  # commands that have an option in the same words
DESCRIPTIONS = 30  # the column where the help has them, or what is left of them
CHANGE = re.compile(r"(\S+) +(.*) \(((?:step|job|search|cluster)\b.*)\)")


class Option(NamedTuple):
    name: str
    value: str
    default: str
    purpose: str


class Command(NamedTuple):
    words: tuple[str, ...]
    purpose: str
    usage: list[str]
    arguments: list[Option]
    groups: dict[str, list[Option]]
    commands: list[str]


def help_of(binary: Path, words: tuple[str, ...]) -> str:
    return subprocess.run([binary, *words, "--help"], capture_output=True, text=True, check=True).stdout


def sections(text: str) -> dict[str, list[str]]:
    """The lines below each title: one that begins at the margin and ends with a colon."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if re.fullmatch(r"\S.*:", line):
            title = line[:-1]
        elif line.startswith(" "):
            found.setdefault(title, []).append(line)
        elif line:
            title = ""
    return found


def option(row: str) -> Option:
    name, _, purpose = row.partition("\0")
    parts = re.fullmatch(r"(\S+)((?: (?!\[)\S+)*?)(?: \[(.+)\])?(?: \.\.\.)?", name.strip())
    assert parts, row
    return Option(parts[1], parts[2].strip(), parts[3] or "", " ".join(purpose.split()))


def options(lines: list[str]) -> list[Option]:
    rows: list[str] = []
    for line in lines:
        row = line.strip()
        if len(line) - len(line.lstrip()) >= DESCRIPTIONS:
            rows[-1] += ("" if "\0" in rows[-1] else "\0") + " " + row
        else:
            rows.append(re.sub(r" {2,}", "\0", row, count=1))
    # A name that fills its column is followed by one blank alone.
    whole = [row if "\0" in row else f"{row[: DESCRIPTIONS - 2]}\0{row[DESCRIPTIONS - 2 :]}" for row in rows]
    return [option(row) for row in whole if not row.startswith("-h,--help")]


def command(binary: Path, words: tuple[str, ...]) -> Command:
    text = help_of(binary, words)
    usage = re.findall(r"^(?:Usage:|      ) (ridgeline .*)", text, re.MULTILINE)
    found = sections(text)
    arguments = options(found.pop("Arguments", []))
    groups: dict[str, list[Option]] = {}
    below: list[str] = []
    for title, lines in found.items():
        if title in ("Examples", ""):
            continue
        if lines[0].lstrip().startswith("-"):
            groups[title] = options(lines)
        else:
            below += [name[1] for line in lines if (name := re.match(r"  ([a-z][a-z-]*) ", line))]
    return Command(words, text.splitlines()[0], usage, arguments, groups, below)


def commands(binary: Path, words: tuple[str, ...] = ()) -> list[Command]:
    this = command(binary, words)
    return [this, *(each for name in this.commands for each in commands(binary, (*words, name)))]


def plain(text: str) -> str:
    """Text that is no markup."""
    return text.replace("<", "&lt;")


def code(text: str) -> str:
    return f"`{text}`"


def listed(rows: list[Option]) -> list[str]:
    lines = []
    for row in rows:
        default = f" (default: {row.default})" if row.default else ""
        lines.append(f"- {code(f'{row.name} {row.value}'.strip())}{default}: {plain(row.purpose)}")
    return [*lines, ""] if lines else []


def section(each: Command, common: list[Option]) -> list[str]:
    """`each`, without its options that are in `common`: these are named."""
    words = ("ridgeline", *each.words)
    lines = [f"## {' '.join(words)}", "", plain(each.purpose), ""]
    if each.commands:
        links = [f"[`{name}`](#{'-'.join((*words, name))})" for name in each.commands]
        return [*lines, f"Commands: {', '.join(links)}.", ""]
    usage = [code(each.usage[0])] if len(each.usage) == 1 else ["```", *each.usage, "```"]
    lines += [*usage, "", *listed(each.arguments)]
    for title, group in each.groups.items():
        rows = [row for row in group if row not in common]
        if rows:
            lines += ([] if title == "Options" else [f"{title}:", ""]) + listed(rows)
    shared = [code(row.name) for group in each.groups.values() for row in group if row in common]
    return lines + ([f"[Common options](#common-options): {', '.join(shared)}.", ""] if shared else [])


def options_page(binary: Path) -> str:
    all_commands = commands(binary)[1:]
    uses = Counter(row for each in all_commands for group in each.groups.values() for row in group)
    common = [row for row, count in uses.items() if count >= COMMON_FROM]
    lines = [HEAD, "# Options", "", "What `--help` says of each command.", "", "## Common options", "", *listed(common)]
    for each in all_commands:
        lines += section(each, common)
    return "\n".join(lines).rstrip() + "\n"


def changes_page(binary: Path) -> str:
    listed = subprocess.run([binary, "what-if", "--list"], capture_output=True, text=True, check=True).stdout
    rows = [found for line in listed.splitlines() if (found := CHANGE.fullmatch(line))]
    changes = [f"- {code(found[1])}: {plain(found[2])} ({found[3]})" for found in rows]
    assert rows
    intro = """The changes that `--change` of several commands takes, as `ridgeline what-if --list` prints them. A
change is written `NAME`, `NAME:ARGUMENT` or `NAME:ARGUMENT=VALUE`. In parentheses stands what it applies to:

- step: an entry point of [`ridgeline what-if`](what-if.md); predicted from times of operations, or tried, or both
- trace: a trace of [`ridgeline what-if`](what-if.md#traces-and-changes-by-rule)
- job: a recorded job of [`ridgeline job show`](job.md#replay-and-changes), which is replayed
- search: a recorded job of [`ridgeline job optimize`](job-optimize.md)
- cluster: a job that [`ridgeline job predict`](job-predict.md) predicts from one process

A change *by rule* is estimated from the graph of the step, and cannot be tried. One *from papers* is, too, and
you would have to write it yourself."""
    return "\n".join([HEAD, "# Changes", "", intro, "", *changes, ""])


def pages(binary: Path) -> dict[Path, str]:
    return {DOCS / "options.md": options_page(binary), DOCS / "changes.md": changes_page(binary)}


if __name__ == "__main__":
    for page, text in pages(Path(sys.argv[1]).resolve()).items():
        page.write_text(text)
