"""Another right way: mkdir -p and a redirection."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
path = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
folder, _, name = path.rpartition("/")
content = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"mkdir -p {folder} && echo '{content}' > {path}")
trial.final(f"{path} is written.")
