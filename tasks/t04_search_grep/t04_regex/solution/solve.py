"""Searches with the pattern of the instruction and names the files."""

import re

from hemra_protocol import Trial
from hemra_tools import search_files

trial = Trial("solution", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I search with this pattern.")
trial.final("\n".join(path.removeprefix("./") for path in search_files(trial, pattern)))
