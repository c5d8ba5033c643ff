"""Searches for each code and reports what was found."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("solution", "1")
base = re.search(r"http://[^\s/]+", trial.instruction)[0]
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    trial.message(f"I search for {code}.")
    pages = [base + hit["url"] for hit in web_search(trial, code)]
    lines.append(f"{code}: {', '.join(pages) or 'none'}")
trial.final("\n".join(lines))
