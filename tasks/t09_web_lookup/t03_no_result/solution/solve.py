"""Searches for each code and reports what was found."""

import json
import re
import urllib.parse
import urllib.request

from hemra_protocol import Trial


def web_search(trial, query):
    """One call of the tool: asks the search of the trial's web. Returns the results."""
    call = trial.call("web_search", {"query": query})
    base = re.search(r"http://[^\s/]+", trial.instruction)[0]
    address = f"{base}/search?" + urllib.parse.urlencode({"q": query})
    with urllib.request.urlopen(address, timeout=20) as response:
        found = json.load(response)
    trial.result(call, True, found)
    return found["results"]


trial = Trial("solution", "1")
base = re.search(r"http://[^\s/]+", trial.instruction)[0]
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    trial.message(f"I search for {code}.")
    pages = [base + hit["url"] for hit in web_search(trial, code)]
    lines.append(f"{code}: {', '.join(pages) or 'none'}")
trial.final("\n".join(lines))
