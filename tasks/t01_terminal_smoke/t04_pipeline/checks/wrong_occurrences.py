"""Counts every line but one."""

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("cat add.py | grep def | tail -n +2 | wc -l")
trial.final(printed.strip())
