"""Draws the accounts and their balances. They are nowhere in the workspace: only the server knows them."""

import json
import pathlib
import random
import string


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    drawn = random.Random(f"mcp/ledger:{seed}")
    names = {f"{drawn.choice(string.ascii_uppercase)}-{drawn.randrange(100, 1000)}" for _ in range(6)}
    balances = {name: drawn.randrange(10_000, 100_000) for name in sorted(names)}
    account = drawn.choice(list(balances))
    return {"account": account, "balance": balances[account], "balances": json.dumps(balances)}
