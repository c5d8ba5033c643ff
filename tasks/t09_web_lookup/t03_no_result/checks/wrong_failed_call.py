"""Wrong: the right words, and the calls are on record as failed."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    pages = [hit["url"] for hit in web_search(trial, code, ok=False)]
    lines.append(f"{code}: {', '.join(pages) or 'none'}")
trial.final("\n".join(lines))
