"""Wrong: all are said to be nowhere."""

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
codes = re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE)
for code in codes:
    web_search(trial, f"{code} price list")
trial.final("\n".join(f"{code}: none" for code in codes))
