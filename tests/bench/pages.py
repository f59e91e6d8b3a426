"""docs/dev/accuracy.md, docs/dev/accuracy-elsewhere.md and docs/dev/performance.md, from the result files.

`python tests/bench/pages.py` writes them again; tests/layers/test_results.py fails where they differ.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import results

DOCS = results.FOLDER.parent
REWRITE = ".venv/bin/python tests/bench/pages.py"
USUAL_MACHINE = (
    "virtual machine with 2 shared cores of an Intel Xeon and 24 GiB, Debian 12, Python 3.11, torch 2.13.0 on the CPU"
)


class Page(NamedTuple):
    file: str
    title: str
    intro: str
    names: tuple[str, ...]
    brief: tuple[str, ...] = ()
    """Results that have one item of a list instead of a section."""


PAGES = (
    Page(
        "accuracy.md",
        "Accuracy",
        "What is promised: 95 % of the real times lie in the interval of a report or of another batch size, 90 % of "
        "tried changes in that of a change; peaks on the host are exact to the byte, or are shown as an estimate. "
        "[Jobs and other GPUs](accuracy-elsewhere.md) and [speed](performance.md) have their own pages.",
        (
            "accuracy",
            "refine",
            "reserved",
            "far-peaks",
            "fits",
            "plain-loops",
            "compiled",
            "injected",
            "scripts",
            "public-scripts",
            "script-entries",
            "compare",
            "check",
            "what-if",
            "what-if-calibration",
            "what-if-traces",
            "replay",
        ),
    ),
    Page(
        "accuracy-elsewhere.md",
        "Accuracy elsewhere",
        "Predictions of jobs, of other GPUs and of operations. Each is a range; what no rule covers is bounded by the "
        "data sheet, or refused. See [accuracy](accuracy.md) for steps on this machine.",
        (
            "cluster",
            "pipeline",
            "zero",
            "ranks",
            "jobs",
            "job-replay",
            "hardware",
            "scaling",
            "estimators",
        ),
        ("clocks", "timers", "roofline", "white-box", "flops"),
    ),
    Page(
        "performance.md",
        "Performance",
        "Ratios are paired: each round runs every variant once, in turn, and a ratio is taken within the round. "
        '"Bare again" is the bare step against itself: the noise. See [accuracy](accuracy.md) for what the figures '
        "are worth.",
        (
            "overhead",
            "profile",
            "import",
            "server",
            "vscode",
            "soak",
            "kernels",
        ),
        (
            "communication",
            "source",
            "remote",
            "web-report",
            "cancel",
            "analysis",
            "models",
            "simulate",
            "operation-measuring",
            "operation-table",
            "devices",
            "optimize",
        ),
    ),
)


def wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def stated(figure: dict[str, Any]) -> str:
    target = f" (target: {figure['target']})" if figure["target"] else ""
    return f"{figure['title']}: **{figure['value'] or 'not known'}**{target}"


def item(result: dict[str, Any]) -> list[str]:
    link = f"[{result['title']}](results/{result['name']}.json)"
    text = f"- {link}, {'; '.join(stated(figure) for figure in result['figures'])}. {' '.join(result['short'])}"
    return wrapped(text.rstrip(), "  ")


def section(result: dict[str, Any]) -> list[str]:
    stamp = [f"[`{result['command']}`](results/{result['name']}.json)"]
    stamp += [result["date"]] if result["date"] else []
    stamp += [result["machine"]] if result["machine"] not in (None, USUAL_MACHINE) else []
    stamp += [f"at {result['commit']}"] if result["commit"] else []
    lines = [f"## {result['title']}", "", *wrapped(result["about"]), f"{', '.join(stamp)}.", ""]
    for figure in result["figures"]:
        lines += wrapped(f"- {stated(figure)}", "  ")
    lines.append("")
    if result["short"]:
        lines += [*wrapped(" ".join(result["short"])), ""]
    return lines


def text_of(page: Page, of: dict[str, dict[str, Any]]) -> str:
    is_usual = any(of[name]["machine"] == USUAL_MACHINE for name in page.names)
    usual = f"The machine, unless a section names another: {USUAL_MACHINE}. " if is_usual else ""
    lines = [
        f"<!-- Written by `{REWRITE}` from docs/dev/results. Do not edit. -->",
        "",
        f"# {page.title}",
        "",
        *wrapped(page.intro),
        "",
        *wrapped(f"{usual}Each command measures again and links to its tables. Undated figures are older."),
        "",
    ]
    for name in page.names:
        lines += section(of[name])
    if page.brief:
        lines += ["## Other measurements", "", "The files name the commands.", ""]
    for name in page.brief:
        lines += item(of[name])
    return "\n".join(lines).rstrip() + "\n"


def pages(of: dict[str, dict[str, Any]]) -> dict[Path, str]:
    return {DOCS / page.file: text_of(page, of) for page in PAGES}


def all_results() -> dict[str, dict[str, Any]]:
    return {path.stem: results.load(path.stem) for path in sorted(results.FOLDER.glob("*.json"))}


def write() -> None:
    for path, text in pages(all_results()).items():
        path.write_text(text)


if __name__ == "__main__":
    write()
