"""Reads the file and patches the second line, with enough context to be unique."""

import re

from hemra_protocol import Trial
from hemra_tools import patch

trial = Trial("solution", "1")
old, new = re.findall(r"`(foo = \d+)`", trial.instruction)
trial.message("I read the file.")
source = trial.read_file("dup_strings.py")
trial.message("I try with the line alone.")
if not patch(trial, "dup_strings.py", old, new):
    trial.message("That occurs twice. I take the title of the second section with it.")
    title = re.findall(r"^# .*$", source, re.MULTILINE)[1]
    block = source[source.index(title) : source.rindex(old)]
    patch(trial, "dup_strings.py", block + old, block + new)
trial.final(f"The second line is {new} now.")
