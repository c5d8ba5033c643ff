"""Draw what a command prints on a terminal as an SVG, for the README.

FORCE_COLOR=1 hemra report latest | python tools/report_picture.py "hemra report latest" docs/report.svg
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text


def picture(title: str, ansi: str) -> str:
    """The SVG of a terminal with `ansi` on it. Fonts are the reader's own: nothing is fetched when it is shown."""
    lines = ansi.rstrip("\n").split("\n")
    width = max(Text.from_ansi(line).cell_len for line in lines)
    console = Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=True)
    svg = console.export_svg(title=title, unique_id="report")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(picture(sys.argv[1], sys.stdin.read()), "utf-8")
