"""Wrong: every city that comes up is offered."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("wrong", "1")
country = re.search(r"country (\w+)", trial.instruction)[1]
results = web_search(trial, f"capital {country}")
cities = [city for hit in results for city in re.findall(r"(?:been|was|make|is) ([A-Z]\w+)", hit["snippet"])]
trial.final(f"It is one of {', '.join(cities)}. See {', '.join(result['url'] for result in results)}")
