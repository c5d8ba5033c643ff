"""Tries the record, meets the error, follows the index, and reports both."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
asked = re.search(r"records/(\w+\.py)", trial.instruction).group(1)
trial.message(f"I read records/{asked}.")
said = ""
try:
    text = trial.read_file(f"records/{asked}")
except FileNotFoundError:
    trial.message("It is not there. I look into the index.")
    index = trial.read_file("records/INDEX.txt")
    successor = re.search(rf"^{re.escape(asked)} -> (\S+)$", index, re.MULTILINE).group(1)
    trial.message(f"I read records/{successor} instead.")
    text = trial.read_file(f"records/{successor}")
    said = f"records/{asked} does not exist; according to the index it was moved into {successor}. "
token = re.search(r'TOKEN = "([^"]+)"', text).group(1)
trial.final(f"{said}TOKEN is {token}.")
