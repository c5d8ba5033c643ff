"""Reads the three windows with sed."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
counts, checkpoints = [], []
for window in ("1,50p", "51,100p", "101,$p"):
    text = trial.terminal(f"sed -n '{window}' big_file.py")
    counts.append(len(text.splitlines()))
    checkpoints += re.findall(r"# CHECKPOINT: (\S+)", text)
trial.final(f"Lines: {counts}, in all {sum(counts)}. Checkpoints: {', '.join(checkpoints)}")
