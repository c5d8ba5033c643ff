"""Writes the three lines and looks at the bytes."""

import re

from hemra_protocol import Trial
from hemra_tools import write_file

trial = Trial("solution", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
trial.message("I write the file.")
write_file(trial, "unicode.txt", "\n".join(lines) + "\n")
trial.message("I look at its size.")
trial.terminal("wc -c unicode.txt")
trial.final("unicode.txt is written.")
