"""Another right way: a program with escapes, without a newline at the end."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("check", "1")
lines = re.findall(r"^    (.+)$", trial.instruction, re.MULTILINE)
text = ascii("\n".join(lines))
program = f'open("unicode.txt", "wb").write({text}.encode("utf-8"))'
trial.terminal(f"python3 -c {shlex.quote(program)}")
trial.final("unicode.txt is written.")
