"""Another right way: math.modf, in a list and without a language at the fence."""

import re

from hemra_protocol import Trial

CODE = """\
import math


def truncate_number(number):
    if number < 0:
        NEGATIVE
    return OVERFLOW if number > LIMIT else math.modf(number)[0]
"""

trial = Trial("right", "1")
limit = re.search(r"greater than (\d+)", trial.instruction)[1]
overflow = re.search(r"returns `(-[\d.]+)`", trial.instruction)[1]
negative = "return -(-number % 1.0)"
if "ValueError" in trial.instruction:
    negative = "raise ValueError('negative')"
elif "what is missing" in trial.instruction:
    negative = "return -number % 1.0"
code = CODE.replace("LIMIT", limit).replace("OVERFLOW", overflow).replace("NEGATIVE", negative)
trial.final(f"1. The function:\n\n```\n{code}```\n\nIt was tried with the examples.")
