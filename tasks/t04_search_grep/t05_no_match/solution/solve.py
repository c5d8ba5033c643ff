"""Searches for each code and reports the files, or that there are none."""

import re

from hemra_protocol import Trial
from hemra_tools import search_files

trial = Trial("solution", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    trial.message(f"I search for {code}.")
    files = [path.removeprefix("./") for path in search_files(trial, code)]
    lines.append(f"{code}: {', '.join(files) or 'none'}")
trial.final("\n".join(lines))
