"""DeepBench's convolutions in float32 (baidu-research/DeepBench, Apache-2.0): from its spreadsheets."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_keys import convolution

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
INPUT = (("N",), ("C",), ("H",), ("W",))
WEIGHT = (("K",), ("C",), ("R (Filter height)", "R"), ("S (Filter width)", "S"))
PADDING = (("pad_h",), ("pad_w",))
STRIDES = (("Vertical stride", "Vertical Stride"), ("Horizontal stride", "Horizontal Stride"))
TIMES = {
    "forward": "Forward (msec)",
    "gradient of the input": "wrt Inputs (msec)",
    "gradient of the weight": "wrt Parameters (msec)",
}
Cells = dict[str, str]  # text by column


@dataclass(frozen=True)
class Description:
    """A GPU without a data sheet here; TechPowerUp's figures."""

    units: int
    clock_hz: float
    float32: float
    bytes_per_s: float
    power_w: float

    def described_like(self, other: dict[str, Any]) -> dict[str, Any]:
        """A device file: `other` with these figures."""
        memory = {**other["levels"][-1], "sharedByUnits": self.units, "bytesPerS": {"all": {"value": self.bytes_per_s}}}
        return {
            **other,
            "name": f"{self.units} units",
            "computeUnits": self.units,
            "clockHz": {"value": self.clock_hz},
            "levels": [{**other["levels"][1], "sharedByUnits": self.units, "capacityBytes": 3 << 20}, memory],
            "peaks": [{"dtype": "float32", "flopPerS": {"all": {"value": self.float32}}}],
            "powerW": {"value": self.power_w},
        }


DESCRIBED = {
    "M40": Description(24, 1.112e9, 6.83e12, 288.4e9, 250),
    "TitanXp": Description(30, 1.582e9, 12.15e12, 547.6e9, 250),
}


def rows_of(path: Path) -> Iterator[Cells]:
    """The rows of the first sheet."""
    with zipfile.ZipFile(path) as book:
        shared = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    texts = ["".join(text.text or "" for text in item.iter(MAIN + "t")) for item in shared]
    for row in sheet.iter(MAIN + "row"):
        cells = {}
        for cell in row:
            value = cell.find(MAIN + "v")
            if value is not None and value.text is not None:
                text = texts[int(value.text)] if cell.get("t") == "s" else value.text
                cells[re.sub(r"\d", "", cell.get("r", ""))] = text.strip()
        yield cells


def convolutions(folder: Path, device: str, what: str) -> Iterator[tuple[str, float]]:
    """Keys and milliseconds. `what`: of TIMES; forward is "forward, 3 × 3", without strides, or "forward, others"."""
    rows = list(rows_of(folder / f"DeepBench_NV_{device}.xlsx"))
    title = next(i for i, row in enumerate(rows) if "Convolution" in (row.get("A"), row.get("B")))
    columns = {text: column for column, text in rows[title + 1].items()}
    kind = what.split(",")[0]
    for row in rows[title + 2 :]:

        def number(names: tuple[str, ...], row: Cells = row) -> int:
            return int(float(row[next(columns[name] for name in names if name in columns)]))

        try:
            x, weight = tuple(map(number, INPUT)), tuple(map(number, WEIGHT))
            padding, stride = (number(PADDING[0]), number(PADDING[1])), (number(STRIDES[0]), number(STRIDES[1]))
            ms = float(row[columns[TIMES[kind]]])
        except (KeyError, ValueError):
            continue  # another table follows, or the gradient was not measured
        is_plain = weight[2:] == (3, 3) and stride == (1, 1)
        if kind != "forward" or is_plain == (what == "forward, 3 × 3"):
            yield convolution(kind, x, weight, padding, stride), ms
