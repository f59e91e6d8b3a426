"""Result files: docs/dev/results/NAME.json, which `./dev bench NAME --keep` makes from the Markdown that it prints.

A file has its tables in full, and the figures that the pages show. A figure with `from` follows from a table and is
computed again whenever the file is written; one without was stated by a run in words. `title`, `about`, `short` (in
what it is known to fall short) and the targets are written by hand, and survive a new run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import StatisticsError, median
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "dev" / "results"
UNITS = frozenset({"%", "ms", "µs", "s", "MiB", "GiB", "MB", "bytes"})
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
PATH_OPTIONS = {"--data": "FOLDER", "--figures": "FILE"}


def column_of(heading: str) -> dict[str, str | None]:
    title, comma, unit = heading.rpartition(", ")
    return {"title": title, "unit": unit} if comma and unit in UNITS else {"title": heading, "unit": None}


def tables_of(printed: str) -> list[dict[str, Any]]:
    """The Markdown tables, each under the heading before it, and under "" where there is none."""
    tables: list[dict[str, Any]] = []
    heading, table = "", None
    for line in printed.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        if not line.startswith("|"):
            table = None
            continue
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        if table is None:
            table = {"title": heading, "columns": [column_of(cell) for cell in cells], "rows": []}
            tables.append(table)
        elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            table["rows"].append(cells)
    return tables


def number_in(cell: str) -> float | None:
    found = NUMBER.search(cell)
    return float(found.group().replace(",", "")) if found else None


def cells_of(tables: list[dict[str, Any]], source: Mapping[str, Any]) -> list[str]:
    """What `from` names: of one table, columns by title or by number, of all rows or of those whose
    text, cell after cell, begins with `row`."""
    table = tables[source.get("table", 0)]
    titles = [column["title"] for column in table["columns"]]
    indices = [title if isinstance(title, int) else titles.index(title) for title in source["columns"]]
    return [
        row[index]
        for row in table["rows"]
        for index in indices
        if " ".join(row).startswith(source.get("row", "")) and row[index]
    ]


def value_of(tables: list[dict[str, Any]], source: Mapping[str, Any]) -> str:
    """The figure that `from` describes, as a page shows it."""
    cells = cells_of(tables, source)
    statistic = source["statistic"]
    if statistic == "cell":
        return cells[0]
    if statistic == "yes":
        return f"{sum(cell == 'yes' for cell in cells)} of {len(cells)}"
    sizes = [abs(number) for cell in cells if (number := number_in(cell)) is not None]
    if statistic == "within":
        return f"{sum(size <= source['limit'] for size in sizes)} of {len(sizes)}"
    value = {
        "median": lambda: median(sizes),
        "worst": lambda: max(sizes),
        "ninetieth percentile": lambda: sorted(sizes)[round(0.9 * (len(sizes) - 1))],
        "least": lambda: min(sizes),
    }[statistic]()
    unit = " %" if any("%" in cell for cell in cells) else source.get("unit", "")
    half_up = value + 1e-9  # of decimal figures such as 4.55, which are less in binary
    return f"{half_up:.{source.get('decimals', 1)}f}{unit}"


def with_figures(result: dict[str, Any]) -> dict[str, Any]:
    """With the figures that follow from the tables; null where these have other columns or rows."""

    def followed(figure: dict[str, Any]) -> str | None:
        try:
            return value_of(result["tables"], figure["from"])
        except (IndexError, ValueError, StatisticsError):
            return None

    figures = [{**figure, "value": followed(figure)} if "from" in figure else figure for figure in result["figures"]]
    return {**result, "figures": figures}


def command_of(name: str, arguments: list[str], names: frozenset[str]) -> str:
    """How to run one benchmark again, without the paths of this machine."""
    words, place = [], None
    for argument in arguments:
        option = argument.partition("=")[0]
        if place is not None:
            words.append(place)
            place = None
        elif option in PATH_OPTIONS:
            if argument == option:
                words.append(option)
                place = PATH_OPTIONS[option]
            else:
                words += [option, PATH_OPTIONS[option]]
        elif argument != "--keep" and argument not in names:
            words.append(argument)
    return " ".join(["./dev bench", name, *words])


def updated(before: dict[str, Any] | None, printed: str, run: dict[str, Any]) -> dict[str, Any]:
    """The result file after a run. `run`: name, command, date, machine and commit.

    The value of a figure that the new tables do not give is null, and has to be written by hand.
    """
    kept = before or {"title": run["name"], "about": "", "figures": [], "short": []}
    figures = [{**figure, "value": None} for figure in kept["figures"]]
    return with_figures(
        {
            "name": run["name"],
            "title": kept["title"],
            "about": kept["about"],
            **{key: run[key] for key in ("command", "date", "machine", "commit")},
            "figures": figures,
            "short": kept["short"],
            "tables": tables_of(printed),
        }
    )


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.json"


def load(name: str) -> dict[str, Any]:
    return json.loads(path_of(name).read_text())


def text_of(result: dict[str, Any]) -> str:
    """Each figure, column and row on a line of its own, so that a change of one is a change of one line."""

    def value(of: Any, indent: int) -> str:
        flat = json.dumps(of, ensure_ascii=False)
        if len(flat) + indent < 118 and not (isinstance(of, dict) and "rows" in of):
            return flat
        inner = " " * (indent + 2)
        if isinstance(of, dict):
            body = [f"{json.dumps(key)}: {value(item, indent + 2)}" for key, item in of.items()]
        elif isinstance(of, list) and any(isinstance(item, (dict, list)) for item in of):
            body = [value(item, indent + 2) for item in of]
        else:
            return flat
        brackets = "{}" if isinstance(of, dict) else "[]"
        return f"{brackets[0]}\n{inner}" + f",\n{inner}".join(body) + f"\n{' ' * indent}{brackets[1]}"

    return value(result, 0) + "\n"


def save(result: dict[str, Any]) -> Path:
    path = path_of(result["name"])
    path.parent.mkdir(exist_ok=True)
    path.write_text(text_of(result))
    return path
