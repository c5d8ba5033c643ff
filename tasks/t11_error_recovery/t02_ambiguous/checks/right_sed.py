"""Another right way: sed on the line that grep gives; a comment and other quotes."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

number = trial.terminal(f"grep -n 'return \"{old}\"' multi.py").splitlines()[1].partition(":")[0]
trial.terminal(
    f"sed -i \"{number}s/.*/        return '{new}'  # was {old}/\" multi.py && sed -n {number}p multi.py"
)
trial.final("Done.")
