"""Wrong: what was in the first directory is gone."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
path = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
folder, _, name = path.rpartition("/")
content = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"rm -r {path.split('/')[0]}; mkdir -p {folder} && echo '{content}' > {path}")
trial.final(f"{path} is written.")
