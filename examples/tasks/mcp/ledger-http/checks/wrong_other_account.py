"""Asks for the account after the one that is meant."""

import re

from hemra_protocol import Trial
from hemra_tools import mcp

trial = Trial("other account", "1")
account = re.search(r"account (\S+-\d+)", trial.instruction)[1]
known = mcp(trial, "ledger", "accounts", {}).split()
other = known[(known.index(account) + 1) % len(known)]
balance = mcp(trial, "ledger", "lookup", {"account": other}).split()[-1]
trial.terminal(f"printf '%s\\n' {balance} > balance.txt")
trial.final(f"The balance of {account} is {balance}.")
