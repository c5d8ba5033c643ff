"""The nearest wrong thing: takes the file's name for the word. It must fail."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
name = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
trial.message(f"I print {name}.")
trial.terminal(f"cat {name}")
trial.final(f"The secret word is {name.removesuffix('.txt')}.")
