"""Reads the file and patches its last line."""

import re

from hemra_protocol import Trial
from hemra_tools import patch

trial = Trial("solution", "1")
globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
trial.message("I read the file.")
last = trial.read_file("hello.txt").splitlines()[-1]
trial.message("I append the globe to its last line.")
patch(trial, "hello.txt", last, f"{last} {globe}")
trial.final(f"hello.txt ends with {globe}.")
