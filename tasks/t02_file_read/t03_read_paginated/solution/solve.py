"""Reads the file in three windows and counts what each of them gave."""

import re

from hemra_protocol import Trial

trial = Trial("solution", "1")
counts, checkpoints = [], []
for offset, limit in ((1, 50), (51, 50), (101, None)):
    trial.message(f"I read from line {offset} on.")
    text = trial.read_file("big_file.py", offset, limit)
    counts.append(len(text.splitlines()))
    checkpoints += re.findall(r"# CHECKPOINT: (\S+)", text)
said = f"The chunks have {counts[0]}, {counts[1]} and {counts[2]} lines, the file has {sum(counts)}."
trial.final(f"{said} Checkpoints: {', '.join(checkpoints)}.")
