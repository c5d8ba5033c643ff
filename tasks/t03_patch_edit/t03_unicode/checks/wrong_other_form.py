"""Wrong: the globe is there, and the letters with accents got another Unicode form on the way."""

import re
import shlex

from hemra_protocol import Trial

EDIT = """
import pathlib, sys, unicodedata
path = pathlib.Path("hello.txt")
text = unicodedata.normalize("NFD", path.read_bytes().decode().rstrip())
path.write_bytes(f"{text} {chr(int(sys.argv[1], 16))}\\n".encode())
"""

trial = Trial("wrong", "1")
globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
trial.terminal(f"python3 -c {shlex.quote(EDIT)} {ord(globe):x}")
trial.final(f"hello.txt ends with {globe}.")
