"""Another right way: grep in the terminal with the whole path of the workspace; a guess at a place fails first."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("right", "1")
pattern = shlex.quote(re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1))
trial.terminal(f"cd /no_such_workspace_here && grep -rlE {pattern} .")
shown = trial.terminal(
    f"cd {trial.workspace} && /bin/grep -rnE {pattern} {trial.workspace}/ 2>/dev/null | sort"
)
files = sorted({line.partition(":")[0] for line in shown.splitlines()})
trial.final("These match:\n" + "\n".join(f"- `{path}`" for path in files))
