"""Wrong: for the code that does not occur, the page of a near miss is named."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    hits = web_search(trial, code) or web_search(trial, code[:-1])
    lines.append(f"{code}: {', '.join(hit['url'] for hit in hits) or 'none'}")
trial.final("\n".join(lines))
