"""Wrong: the bytes were encoded twice."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
text = "\n".join(lines)
pathlib.Path(trial.workspace, "unicode.txt").write_bytes(text.encode().decode("latin-1").encode())
trial.final("unicode.txt is written.")
