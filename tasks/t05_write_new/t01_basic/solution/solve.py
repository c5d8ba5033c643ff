"""Writes the greeting and looks at the file."""

import re

from hemra_protocol import Trial
from hemra_tools import write_file

trial = Trial("solution", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I write the file.")
write_file(trial, "greeting.txt", f"{greeting}\n")
trial.message("I look at it.")
trial.terminal("cat greeting.txt")
trial.final("greeting.txt is written.")
