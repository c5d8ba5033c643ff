"""Another right way: a here-document in the terminal."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
text = "\n".join(lines)
trial.terminal(f"cat > unicode.txt <<'END'\n{text}\nEND")
trial.final("unicode.txt is written.")
