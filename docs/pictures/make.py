"""Pictures of real runs: runs a command in a terminal of a given width and draws what the screen shows.

    .venv/bin/python -m pip install pillow==11.0.0        # once; and Debian's fonts-dejavu-core
    .venv/bin/python docs/pictures/make.py docs/pictures/profile-resnet50.png 118 \
        build/bin/ridgeline profile examples/resnet50/entry.py --seconds 30
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios

from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono{}.ttf"
SIZE, LINE, MARGIN = 15, 19, 14
BACKGROUND, FOREGROUND, DIM = (22, 24, 29), (216, 220, 228), (128, 134, 148)
COLORS = {
    31: (240, 113, 120),
    32: (120, 200, 140),
    33: (229, 192, 123),
    34: (97, 175, 239),
    35: (198, 120, 221),
    36: (86, 182, 194),
}


def screen_text(command: list[str], columns: int) -> str:
    """Everything that the command writes to a terminal of that many columns; progress lines that it wiped are gone."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 200, columns, 0, 0))
    text = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if not chunk:
            break
        text += chunk
    os.waitpid(process, 0)
    lines = text.decode().replace("\r\n", "\n").split("\n")
    return "\n".join(line.rsplit("\r\x1b[K", 1)[-1] for line in lines)


def draw(text: str, columns: int, path: str) -> None:
    plain, bold = (ImageFont.truetype(FONT.format(kind), SIZE) for kind in ("", "-Bold"))
    width = plain.getlength("M")
    lines = text.strip("\n").split("\n")
    picture = Image.new("RGB", (int(width * columns) + 2 * MARGIN, LINE * len(lines) + 2 * MARGIN), BACKGROUND)
    canvas = ImageDraw.Draw(picture)
    color, font = FOREGROUND, plain
    for row, line in enumerate(lines):
        column = 0
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b"):
                for code in (int(code or 0) for code in part[2:-1].split(";")):
                    if code == 0:
                        color, font = FOREGROUND, plain
                    elif code == 1:
                        font = bold
                    elif code == 2:
                        color = DIM
                    elif code == 22:
                        color, font = FOREGROUND, plain
                    elif code == 39:
                        color = FOREGROUND
                    elif code in COLORS:
                        color = COLORS[code]
                continue
            for character in part:
                canvas.text((MARGIN + column * width, MARGIN + row * LINE), character, fill=color, font=font)
                column += 1
    picture.save(path, optimize=True)


if __name__ == "__main__":
    draw(screen_text(sys.argv[3:], int(sys.argv[2])), int(sys.argv[2]), sys.argv[1])
