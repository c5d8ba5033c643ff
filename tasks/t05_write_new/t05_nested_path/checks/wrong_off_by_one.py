"""Wrong: the number is off by one."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
path = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
folder, _, name = path.rpartition("/")
content = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
text, _, number = content.rpartition(" ")
trial.terminal(f"mkdir -p {folder} && echo '{text} {int(number) + 1}' > {path}")
trial.final(f"{path} is written.")
