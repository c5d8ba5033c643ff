"""Writes a balance without having asked for it."""

from hemra_protocol import Trial

trial = Trial("guess", "1")
trial.terminal("echo 12345 > balance.txt")
trial.final("The balance is 12345.")
