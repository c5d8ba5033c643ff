"""Writes the file, which makes the directories, and looks at the tree."""

import re

from hemra_protocol import Trial
from hemra_tools import write_file

trial = Trial("solution", "1")
path = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
content = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I write the file.")
write_file(trial, path, f"{content}\n")
trial.message("I look at the tree.")
trial.terminal("ls -R")
trial.final(f"{path} is written.")
