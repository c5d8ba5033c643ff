"""Another right way: a question that finds nothing first, then fewer words; tells of the other cities as well."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("right", "1")
country = re.search(r"country (\w+)", trial.instruction)[1]
trial.message("I ask.")
web_search(trial, f"what is the capital of {country} today")
trial.message("Nothing; fewer words.")
for result in web_search(trial, country):
    now = re.search(rf"capital of {country} has been (\w+)", result["snippet"])
    old = re.search(rf"capital of {country} was (\w+)", result["snippet"])
    if now:
        city, page = now[1], result["url"]
    if old:
        former = old[1]
trial.final(f"**{city}** (source: `{page}`). The former capital was {former}.")
