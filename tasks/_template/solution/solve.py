"""Does the task with a real command: the file name comes from the instruction, the word from the file."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
name = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
trial.message(f"I print {name}.")
printed = trial.terminal(f"cat {name}")
trial.final("The secret word is " + re.search(r"SECRET=(\S+)", printed).group(1))
