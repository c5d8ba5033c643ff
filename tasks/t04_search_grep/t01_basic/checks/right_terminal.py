"""Another right way: grep in the terminal, absolute paths as a list in markdown."""

from hemra_protocol import Trial

trial = Trial("right", "1")
found = trial.terminal('grep -rlw TODO "$PWD" | sort -r').splitlines()
trial.final("The word stands in these files:\n\n" + "\n".join(f"- `{path}`" for path in found))
