"""Gives the folder above HOME."""

from hemra_protocol import Trial

trial = Trial("check", "1")
home = trial.terminal('dirname "$HOME"').strip()
code = trial.terminal("bash home_code.sh").strip()
trial.final(f"HOME is {home}; {code}.")
