"""Reads the file of that name at the top."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
key = re.search(r'BUILD_KEY = "([^"]+)"', trial.read_file("add.py")).group(1)
trial.final(f"BUILD_KEY is {key}.")
