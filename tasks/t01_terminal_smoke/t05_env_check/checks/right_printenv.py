"""Asks printenv, both in one command."""

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("printenv HOME; bash home_code.sh").splitlines()
trial.final(f"- HOME: {printed[0]}\n- {printed[1]}")
