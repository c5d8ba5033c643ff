"""Another right way: a short program, with Python's own regular expressions."""

import re
import shlex

from hemra_protocol import Trial

SEARCH = """
import pathlib, re, sys
pattern = re.compile(sys.argv[1], re.MULTILINE)
for path in sorted(pathlib.Path(".").rglob("*")):
    if path.is_file() and pattern.search(path.read_text()):
        print(path)
"""

trial = Trial("right", "1")
pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
found = trial.terminal(
    f"ls engine/../forms >/dev/null; python3 -c {shlex.quote(SEARCH)} {shlex.quote(pattern)}"
)
trial.final(f"{len(found.split())} files: " + ", ".join(found.split()))
