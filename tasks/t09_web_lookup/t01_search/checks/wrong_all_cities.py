"""Wrong: every city that comes up is offered."""

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
country = re.search(r"country (\w+)", trial.instruction)[1]
results = web_search(trial, f"capital {country}")
cities = [city for hit in results for city in re.findall(r"(?:been|was|make|is) ([A-Z]\w+)", hit["snippet"])]
trial.final(f"It is one of {', '.join(cities)}. See {', '.join(result['url'] for result in results)}")
