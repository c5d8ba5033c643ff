"""Another right way: one program asks for all three."""

import re
import shlex

from hemra_protocol import Trial

ASK = """
import json, sys, urllib.request
for code in sys.argv[2:]:
    with urllib.request.urlopen(f"{sys.argv[1]}/search?q={code}") as response:
        print(code, *[hit["url"] for hit in json.load(response)["results"]])
"""

trial = Trial("right", "1")
base = re.search(r"http://[^\s/]+", trial.instruction)[0]
codes = re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE)
printed = trial.terminal(f"python3 -c {shlex.quote(ASK)} {base} {' '.join(codes)}")
found = dict(line.partition(" ")[::2] for line in printed.splitlines())
trial.final(
    "\n".join(f"{code}: {', '.join(pages.split()) or 'no page has it'}" for code, pages in found.items())
)
