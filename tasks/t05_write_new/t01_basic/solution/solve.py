"""Writes the greeting and looks at the file."""

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
trial.message("I write the file.")
write_file("greeting.txt", f"{greeting}\n")
trial.message("I look at it.")
trial.terminal("cat greeting.txt")
trial.final("greeting.txt is written.")
