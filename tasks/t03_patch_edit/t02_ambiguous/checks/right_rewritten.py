"""Another right way: a program that reads the file and writes all of it again."""

import re
import shlex

from hemra_protocol import Trial

EDIT = """
import pathlib, sys
path, (old, new) = pathlib.Path("dup_strings.py"), sys.argv[1:]
head, tail = path.read_text().rsplit(old, 1)
path.write_text(head + new + tail)
"""

trial = Trial("right", "1")
old, new = re.findall(r"`(foo = \d+)`", trial.instruction)
trial.terminal(f"python3 -c {shlex.quote(EDIT)} '{old}' '{new}'")
trial.final("Done.")
