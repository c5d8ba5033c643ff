"""Searches, reads the results, and names the city and the page."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("solution", "1")
country = re.search(r"country (\w+)", trial.instruction)[1]
base = re.search(r"http://[^\s/]+", trial.instruction)[0]
trial.message("I search for it.")
for result in web_search(trial, f"capital {country}"):
    city = re.search(rf"capital of {country} has been (\w+)", result["snippet"])
    if city:
        trial.final(f"The capital of {country} is {city[1]}: {base}{result['url']}")
