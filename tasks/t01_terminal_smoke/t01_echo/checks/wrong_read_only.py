"""Reads the script and puts the marker together by guessing the product."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
text = trial.terminal("cat marker.sh")
words = re.search(r"words=\((.*)\)", text).group(1).split()
left, right = map(int, re.search(r"(\d+) \* (\d+)", text).groups())
number = int(re.search(r"words\[(\d)\]", text).group(1))
trial.final(f"hello-{words[number]}-{left * right + 1}")
