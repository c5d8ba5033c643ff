"""Wrong: all are said to be nowhere."""

import re

from hemra_protocol import Trial
from hemra_tools import web_search

trial = Trial("wrong", "1")
codes = re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE)
for code in codes:
    web_search(trial, f"{code} price list")
trial.final("\n".join(f"{code}: none" for code in codes))
