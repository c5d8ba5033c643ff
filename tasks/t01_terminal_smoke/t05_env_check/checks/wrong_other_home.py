"""Runs the script with another HOME."""

from hemra_protocol import Trial

trial = Trial("check", "1")
home = trial.terminal('echo "$HOME"').strip()
code = trial.terminal("HOME=/ bash home_code.sh").strip()
trial.final(f"HOME is {home}; {code}.")
