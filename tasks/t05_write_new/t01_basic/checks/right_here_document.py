"""Another right way: a here-document, by way of another file that is moved."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
greeting = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.terminal(
    f"cat > draft.txt <<'END'\n{greeting}\nEND\nmv draft.txt greeting.txt; cp greeting.txt copy.txt"
)
trial.final("greeting.txt is written.")
