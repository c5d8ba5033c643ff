"""Wrong: the right words, and the only call is on record as failed."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("wrong", "1")
country = re.search(r"country (\w+)", trial.instruction)[1]
for result in web_search(trial, f"capital {country}", ok=False):
    city = re.search(rf"capital of {country} has been (\w+)", result["snippet"])
    if city:
        trial.final(f"The capital of {country} is {city[1]}: {result['url']}")
