"""Another right way: the globe as the very last bytes of the file, without a newline behind them."""

import re
import shlex

from hemra_protocol import Trial

EDIT = """
import pathlib, sys
path = pathlib.Path("hello.txt")
path.write_bytes(path.read_bytes().rstrip(b"\\n") + b" " + chr(int(sys.argv[1], 16)).encode())
"""

trial = Trial("right", "1")
globe = re.search(r"emoji (\S+)", trial.instruction).group(1)
trial.terminal(f"python3 -c {shlex.quote(EDIT)} {ord(globe):x}")
trial.final("Done.")
