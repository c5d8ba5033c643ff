"""Counts the functions in place of the lines."""

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("cat add.py | grep '^def ' | wc -l")
trial.final(f"{printed.strip()} lines contain def.")
