"""Pictures of Neovim: profiles an example in a terminal, as tests/editors/neovim does, and draws what the screen shows.

.venv/bin/python -m pip install pillow==11.0.0        # once; and Debian's fonts-dejavu-core
.venv/bin/python docs/pictures/neovim.py [figures] [what-if]   # default: both
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from make import FONT, LINE, MARGIN, SIZE
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "editors" / "neovim"))
import conftest  # noqa: E402

COLUMNS = 118
BACKGROUND, FOREGROUND = (20, 22, 27), (224, 226, 234)  # of Neovim's own dark colours
PALETTE = [(20, 22, 27), (255, 192, 185), (179, 246, 192), (252, 224, 148), (166, 219, 255), (255, 202, 255),
           (140, 248, 247), (224, 226, 234)]  # fmt: skip


class Pen:
    """What select-graphic-rendition sequences have chosen."""

    def __init__(self) -> None:
        self.foreground, self.background, self.bold, self.reverse = FOREGROUND, BACKGROUND, False, False

    def obey(self, numbers: list[int]) -> None:
        codes = iter(numbers)
        for code in codes:
            if code == 0:
                self.__init__()
            elif code in (1, 22):
                self.bold = code == 1
            elif code in (7, 27):
                self.reverse = code == 7
            elif code in (38, 48):
                color = self.color(codes)
                self.foreground, self.background = (color, self.background) if code == 38 else (self.foreground, color)
            elif code in (39, 49):
                self.foreground, self.background = (
                    (FOREGROUND, self.background) if code == 39 else (self.foreground, BACKGROUND)
                )
            elif code in range(30, 38):
                self.foreground = PALETTE[code - 30]
            elif code in range(40, 48):
                self.background = PALETTE[code - 40]

    def color(self, codes: Iterator[int]) -> tuple[int, int, int]:
        if next(codes) == 2:
            return next(codes), next(codes), next(codes)
        index = next(codes)
        if index < 16:
            return PALETTE[index % 8]
        if index >= 232:
            return (8 + 10 * (index - 232),) * 3
        levels = (0, 95, 135, 175, 215, 255)
        index -= 16
        return levels[index // 36], levels[index // 6 % 6], levels[index % 6]

    def colors(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        return (self.background, self.foreground) if self.reverse else (self.foreground, self.background)


def draw(screen: str, columns: int, path: Path) -> None:
    fonts = [ImageFont.truetype(FONT.format(kind), SIZE) for kind in ("", "-Bold")]
    width = fonts[0].getlength("M")
    rows = screen.rstrip("\n").split("\n")
    picture = Image.new("RGB", (int(width * columns) + 2 * MARGIN, LINE * len(rows) + 2 * MARGIN), BACKGROUND)
    canvas, pen = ImageDraw.Draw(picture), Pen()
    for row, line in enumerate(rows):
        column, top = 0, MARGIN + row * LINE
        for part in re.split(r"(\x1b\[[0-9;:]*m)", line):
            if part.startswith("\x1b"):
                pen.obey([int(code or 0) for code in re.split("[;:]", part[2:-1])])
                continue
            for character in part:
                foreground, background = pen.colors()
                left = MARGIN + column * width
                canvas.rectangle((left, top, left + width - 0.01, top + LINE - 1), fill=background)
                canvas.text((left, top), character, fill=foreground, font=fonts[pen.bold])
                column += 1
    picture.save(path, optimize=True)


def save(terminal: conftest.Terminal, name: str) -> None:
    terminal.keys("C-l")
    terminal.until_not("nohlsearch|Ridgeline breakdown")
    draw(terminal.screen(colours=True), COLUMNS, HERE / f"neovim-{name}.png")


def profile(terminal: conftest.Terminal) -> None:
    terminal.until("import torch")
    terminal.command("set termguicolors signcolumn=auto:2")
    terminal.command("Ridgeline profile")
    terminal.until("Type number")
    terminal.keys("1", "Enter")
    terminal.until("profiled: ")


def take_figures(terminal: conftest.Terminal) -> None:
    terminal.command("edit resnet.py")
    terminal.keys("/def forward", "Enter", "zz", ":nohlsearch", "Enter")
    terminal.until(r"self\.conv\d\(.*\) .* %")
    save(terminal, "lines")
    terminal.command("Ridgeline breakdown")
    terminal.until("▸ ResNet")
    terminal.keys("/▸ ResNet", "Enter", "Enter", ":nohlsearch", "Enter")
    terminal.until("› ResNet")
    save(terminal, "breakdown")
    terminal.keys("q", ":edit entry.py", "Enter")
    terminal.keys("/def input_provider", "Enter", "zt", ":nohlsearch", "Enter")
    terminal.command("Ridgeline bars")
    terminal.until("▸ throughput")
    terminal.keys("10l")
    terminal.until("batch size .* predicted")
    terminal.until("p profile with ")
    save(terminal, "bars")


def take_what_if(terminal: conftest.Terminal) -> None:
    terminal.command("Ridgeline what-if")
    terminal.until("fused optimizer")
    terminal.keys("/fused optimizer", "Enter", "t", ":nohlsearch", "Enter")
    terminal.until("TRIED")
    save(terminal, "what-if-tried")
    terminal.keys("a")
    terminal.until("fused=True")
    terminal.command("silent wall")
    terminal.until("Applied: ")
    save(terminal, "what-if-applied")


def pictures_of(example: str, take: Callable[[conftest.Terminal], None], **environment: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entry = folder / example / "entry.py"
        shutil.copytree(ROOT / "examples" / example, entry.parent, ignore=shutil.ignore_patterns("__pycache__"))
        with conftest.Terminal(folder, entry, columns=COLUMNS, lines=34, **environment) as terminal:
            profile(terminal)
            take(terminal)


def main() -> None:
    conftest.PATIENCE = 400
    chosen = sys.argv[1:] or ["figures", "what-if"]
    if "figures" in chosen:
        pictures_of("resnet50", take_figures, RIDGELINE_BATCH_SIZES="[2, 8]")
    if "what-if" in chosen:
        pictures_of("mlp", take_what_if)


if __name__ == "__main__":
    main()
