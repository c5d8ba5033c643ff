"""Wrong: the four blanks were taken for a part of the lines."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
text = "\n".join(f"    {line}" for line in lines)
pathlib.Path(trial.workspace, "unicode.txt").write_bytes(text.encode())
trial.final("unicode.txt is written.")
