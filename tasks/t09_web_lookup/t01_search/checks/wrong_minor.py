"""Wrong: the capital of the other country whose name begins in the same way."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("wrong", "1")
country = re.search(r"country (\w+)", trial.instruction)[1]
for result in web_search(trial, f"capital {country} Minor"):
    city = re.search(r"island state, is (\w+)", result["snippet"])
    if city:
        trial.final(f"The capital of {country} is {city[1]}: {result['url']}")
