"""Another right way: one grep for all three in the terminal, and an answer in sentences."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
codes = re.findall(r"^- `([^`]+)`", trial.instruction, re.MULTILINE)
shown = trial.terminal(f"grep -rnoFw -e {' -e '.join(codes)} .")
sentences = []
for code in codes:
    files = sorted(set(re.findall(rf"(?m)^\./([^:]+):\d+:{code}$", shown)))
    if files:
        sentences.append(f"The code **{code}** is in {' and '.join(f'`{path}`' for path in files)}.")
    else:
        sentences.append(f"I did not find **{code}** anywhere.")
trial.final(" ".join(sentences))
