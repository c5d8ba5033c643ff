"""Wrong: stops when two codes were found and says none of the third without a search."""

import json
import re
import urllib.request

from hemra_protocol import Trial

trial = Trial("wrong", "1")
lines, found = {}, 0
codes = re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE)
for code in codes:
    call = trial.call("web_search", {"query": code})
    base = re.search(r"http://[^\s/]+", trial.instruction)[0]
    with urllib.request.urlopen(f"{base}/search?q={code.partition('-')[0]}", timeout=20) as response:
        results = json.load(response)["results"]
    hits = [hit for hit in results if re.search(rf"{code}[.,]", hit["snippet"])]
    trial.result(call, True, {"results": hits})
    lines[code] = ", ".join(hit["url"] for hit in hits) or "none"
trial.final("\n".join(f"{code}: {pages}" for code, pages in lines.items()))
