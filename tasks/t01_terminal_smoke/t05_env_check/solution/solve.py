"""Echoes HOME, runs the script, and answers with both outputs."""

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("First the value of HOME.")
home = trial.terminal('echo "$HOME"').strip()
trial.message("Now the check code.")
code = trial.terminal("bash home_code.sh").strip()
trial.final(f"HOME is `{home}`; {code}.")
