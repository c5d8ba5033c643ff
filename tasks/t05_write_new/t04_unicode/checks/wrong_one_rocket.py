"""Wrong: two of the three emoji are missing."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
lines[1] = lines[1].rstrip("\U0001f680 ")
text = "\n".join(lines)
pathlib.Path(trial.workspace, "unicode.txt").write_bytes(text.encode())
trial.final("unicode.txt is written.")
