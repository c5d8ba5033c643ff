"""Reads, is refused for a patch that fits three times, and takes the name of the class with it."""

import re

from hemra_protocol import Trial
from hemra_tools import patch

trial = Trial("solution", "1")
old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

trial.message("I read the file.")
source = trial.read_file("multi.py")
trial.message("I try with the line alone.")
if not patch(trial, "multi.py", f'        return "{old}"', f'        return "{new}"'):
    trial.message("That occurs three times. I take everything from the second class on with it.")
    name = re.findall(r"^class .*$", source, re.MULTILINE)[1]
    begin = source.index(name)
    block = source[begin : source.index(f'return "{old}"', begin)]
    patch(trial, "multi.py", f'{block}return "{old}"', f'{block}return "{new}"')
trial.final(f"The second handler returns {new} now.")
