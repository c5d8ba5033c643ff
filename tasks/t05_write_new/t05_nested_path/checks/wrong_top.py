"""Wrong: the file is at the top."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
path = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
folder, _, name = path.rpartition("/")
content = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"echo '{content}' > {name}")
trial.final(f"{path} is written.")
