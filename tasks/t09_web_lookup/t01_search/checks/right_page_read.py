"""Another right way: the page itself is read as well, by a program."""

import re
import shlex

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("right", "1")
country = re.search(r"country (\w+)", trial.instruction)[1]
base = re.search(r"http://[^\s/]+", trial.instruction)[0]
hits = [hit["url"] for hit in web_search(trial, f"{country} since capital") if "minor" not in hit["url"]]
read = f"import urllib.request as u; print(u.urlopen('{base}{hits[0]}').read().decode())"
page = trial.terminal(f"python3 -c {shlex.quote(read)}")
city = re.search(r"has been (\w+)", page)[1]
trial.final(f"{city.upper()}\n[{country} in the atlas]({base}{hits[0]})")
