"""Does the same in the terminal."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
asked = re.search(r"records/(\w+\.py)", trial.instruction).group(1)
trial.terminal(f"cat records/{asked}")
index = trial.terminal("cat records/INDEX.txt")
successor = re.search(rf"^{re.escape(asked)} -> (\S+)$", index, re.MULTILINE).group(1)
token = re.search(r'TOKEN = "([^"]+)"', trial.terminal(f"cat records/{successor}")).group(1)
trial.final(f"I couldn't read {asked}: no such file. {successor} took its place; its TOKEN is `{token}`.")
