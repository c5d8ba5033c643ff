"""Wrong: the file is in UTF-16."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
text = "\n".join(lines)
pathlib.Path(trial.workspace, "unicode.txt").write_bytes(text.encode("utf-16"))
trial.final("unicode.txt is written.")
