"""Reads the file, writes it anew, and looks at it."""

import re

from hemra_protocol import Trial
from hemra_tools import write_file

trial = Trial("solution", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I read what is there.")
trial.read_file("greeting.txt")
trial.message("I write the new line over it.")
write_file(trial, "greeting.txt", f"{greeting}\n")
trial.final("greeting.txt holds the new line now.")
