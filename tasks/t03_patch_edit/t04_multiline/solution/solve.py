"""Reads the file and patches the method in, with the following method of the right class as context."""

import re

from hemra_protocol import Trial
from hemra_tools import patch

trial = Trial("solution", "1")
value = re.search(r"number (\d+)", trial.instruction).group(1)
after = re.search(r"its method\s+`(\w+)`", trial.instruction).group(1)
trial.message("I read the file.")
source = trial.read_file("big_block.py")
trial.message("I put the method into Foo, in one edit that begins at the head of the class.")
head = source[source.index("class Foo:") :]
old = re.match(rf"(?s).*?    def {after}\(self\):\n        return \d+\n", head).group()
patch(trial, "big_block.py", old, f"{old}\n    def bar(self):\n        return {value}\n")
trial.message("I try it.")
trial.terminal("python3 -B -c 'from big_block import Foo; print(Foo().bar())'")
trial.final(f"Foo has the method bar now; it returns {value}.")
