"""Another right way: all in one turn, and a list with paths under each code."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("right", "1")
lines = ["Here is what the search found:", ""]
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    pages = [hit["url"] for hit in web_search(trial, code.lower())]
    lines += [f"**{code}:**", *(f"- `{page}`" for page in pages or ["No results found"]), ""]
trial.final("\n".join(lines))
