"""Another right way: all in one turn, and a list with paths under each code."""

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


trial = Trial("right", "1")
lines = ["Here is what the search found:", ""]
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    pages = [hit["url"] for hit in web_search(trial, code.lower())]
    lines += [f"**{code}:**", *(f"- `{page}`" for page in pages or ["No results found"]), ""]
trial.final("\n".join(lines))
