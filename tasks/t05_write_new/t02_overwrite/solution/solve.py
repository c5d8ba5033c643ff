"""Reads the file, writes it anew, and looks at it."""

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


greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I read what is there.")
trial.read_file("greeting.txt")
trial.message("I write the new line over it.")
write_file("greeting.txt", f"{greeting}\n")
trial.final("greeting.txt holds the new line now.")
