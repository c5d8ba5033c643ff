"""Writes the three lines and looks at the bytes."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("solution", "1")


def write_file(path, content):
    """Write a text, as a call of the tool `write_file`."""
    call = trial.call("write_file", {"path": path, "content": content})
    file = pathlib.Path(trial.workspace, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8", newline="\n")
    trial.result(call, True, {"bytes_written": len(content.encode())})


lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
trial.message("I write the file.")
write_file("unicode.txt", "\n".join(lines) + "\n")
trial.message("I look at its size.")
trial.terminal("wc -c unicode.txt")
trial.final("unicode.txt is written.")
