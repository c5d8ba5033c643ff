"""Wrong: the accents are gone."""

import pathlib
import re
import unicodedata

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
bare = unicodedata.normalize("NFD", lines[2])
lines[2] = "".join(char for char in bare if not unicodedata.combining(char))
text = "\n".join(lines)
pathlib.Path(trial.workspace, "unicode.txt").write_bytes(text.encode())
trial.final("unicode.txt is written.")
