"""Says that the last chunk, and with it the file, has one line more."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
counts, checkpoints = [], []
for offset, limit in ((1, 50), (51, 50), (101, None)):
    text = trial.read_file("big_file.py", offset, limit)
    counts.append(len(text.splitlines()))
    checkpoints += re.findall(r"# CHECKPOINT: (\S+)", text)
trial.final(f"50, 50 and {counts[2] + 1} lines, {sum(counts) + 1} in all: {', '.join(checkpoints)}")
