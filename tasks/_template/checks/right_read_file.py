"""Another right way: reads the file with the tool for that. It must pass."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
name = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
trial.message(f"I read {name}.")
text = trial.read_file(name)
trial.final("**" + re.search(r"SECRET=(\S+)", text).group(1) + "**")
