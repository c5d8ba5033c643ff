"""Wrong: two lines are swapped."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
lines = [lines[1], lines[0], lines[2]]
text = "\n".join(lines)
pathlib.Path(trial.workspace, "unicode.txt").write_bytes(text.encode())
trial.final("unicode.txt is written.")
