"""Counts with the pipeline and answers with what it printed."""

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("I count the lines with a pipeline.")
printed = trial.terminal("cat add.py | grep def | wc -l")
trial.final(f"{printed.strip()} lines of add.py contain def.")
