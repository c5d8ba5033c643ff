"""Wrong: all of it stands on one line."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
text = " ".join(lines)
pathlib.Path(trial.workspace, "unicode.txt").write_bytes(text.encode())
trial.final("unicode.txt is written.")
