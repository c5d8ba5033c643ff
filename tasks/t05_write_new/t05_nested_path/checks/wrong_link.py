"""Wrong: a directory on the way is a link that leads out of the workspace."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
path = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
folder, _, name = path.rpartition("/")
content = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
link = "/".join(path.split("/")[:2])
trial.terminal(f"mkdir -p ~/there && ln -s ~/there {link} && mkdir -p {folder} && echo '{content}' > {path}")
trial.final(f"{path} is written.")
