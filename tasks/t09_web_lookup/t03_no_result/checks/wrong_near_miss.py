"""Wrong: for the code that does not occur, the page of a near miss is named."""

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


trial = Trial("wrong", "1")
lines = []
for code in re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE):
    hits = web_search(trial, code) or web_search(trial, code[:-1])
    lines.append(f"{code}: {', '.join(hit['url'] for hit in hits) or 'none'}")
trial.final("\n".join(lines))
