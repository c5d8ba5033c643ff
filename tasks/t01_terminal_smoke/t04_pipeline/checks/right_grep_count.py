"""Counts with grep alone."""

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("grep -c def add.py")
trial.final(f"There are **{int(printed):,}** such lines.")
