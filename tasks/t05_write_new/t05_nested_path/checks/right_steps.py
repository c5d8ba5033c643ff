"""Another right way: directory by directory, without a newline at the end; the first try fails."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
path = re.search(r"`([^`]+\.txt)`", trial.instruction).group(1)
folder, _, name = path.rpartition("/")
content = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(f"printf '%s' '{content}' > {path}")
for part in range(2, path.count("/") + 1):
    trial.terminal(f"mkdir {'/'.join(path.split('/')[:part])}")
trial.terminal(f"printf '%s' '{content}' > {path}")
trial.final(f"{path} is written.")
