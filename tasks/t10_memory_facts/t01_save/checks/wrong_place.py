"""Writes the fact into a file of the current directory instead of the memory."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
fact = re.search(r"^> (.*)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"mkdir -p memories && echo '{fact}' > memories/MEMORY.md && cat memories/MEMORY.md")
trial.final(f"Saved in memory: {fact}")
