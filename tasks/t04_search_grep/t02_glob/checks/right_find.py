"""Another right way: find and grep in the terminal; the matching lines are shown."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
shown = trial.terminal("find . -name '*.py' -exec grep -n 'def ' {} +")
files = sorted(set(re.findall(r"(?m)^\./([^:]+):", shown)))
trial.final("These define functions:\n" + "\n".join(f"* **{path}**" for path in files))
