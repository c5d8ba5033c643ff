"""Wrong: the right words, and the only call is on record as failed."""

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
    trial.result(call, False, found)
    return found["results"]


trial = Trial("wrong", "1")
country = re.search(r"country (\w+)", trial.instruction)[1]
for result in web_search(trial, f"capital {country}"):
    city = re.search(rf"capital of {country} has been (\w+)", result["snippet"])
    if city:
        trial.final(f"The capital of {country} is {city[1]}: {result['url']}")
