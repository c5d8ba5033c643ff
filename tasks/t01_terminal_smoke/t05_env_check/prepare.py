"""Draws the salt of the check code."""

import pathlib
import random


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write home_code.sh, which prints a checksum of the salt and HOME."""
    salt = random.Random(f"t05_env_check:{seed}").randrange(100_000, 1_000_000)
    script = (
        "# Prints a check code for the value of HOME.\n"
        f"code=$(printf '%s' \"{salt}:$HOME\" | cksum | cut -d ' ' -f 1)\n"
        'echo "check code: $code"\n'
    )
    (workspace / "home_code.sh").write_text(script, encoding="utf-8", newline="\n")
    return {"salt": salt}
