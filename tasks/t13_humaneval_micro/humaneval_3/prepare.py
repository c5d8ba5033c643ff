"""Draws the first balance, the fee and how far the account may be overdrawn."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Nothing is written."""
    rng = random.Random(f"humaneval_3:{seed}")
    start, overdraft, fee = rng.randrange(1000, 9000), rng.randrange(50, 500), rng.randrange(2, 20)
    return {"start": start, "overdraft": overdraft, "fee": fee, "all": start + overdraft - fee}
