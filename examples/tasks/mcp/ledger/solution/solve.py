"""Asks the server as a harness would."""

import re

from hemra_protocol import Trial
from hemra_tools import mcp

trial = Trial("solution", "1")
account = re.search(r"account (\S+-\d+)", trial.instruction)[1]
trial.message(f"I look up {account}.")
said = mcp(trial, "ledger", "lookup", {"account": account})
balance = said.split()[-1]
trial.terminal(f"printf '%s\\n' {balance} > balance.txt")
trial.final(f"The balance of {account} is {balance}.")
