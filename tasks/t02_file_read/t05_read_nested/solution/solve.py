"""Reads the path that the instruction names and reports the key in it."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
path = re.search(r"`([^`]+/add\.py)`", trial.instruction).group(1)
trial.message(f"I read {path}.")
key = re.search(r'BUILD_KEY = "([^"]+)"', trial.read_file(path)).group(1)
trial.final(f"BUILD_KEY in {path} is {key}.")
