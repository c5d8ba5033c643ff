"""Writes a module that draws a token; it is another one in every call."""

import hashlib
import pathlib
import random

WORDS = [
    "brass",
    "chalk",
    "flint",
    "glass",
    "horn",
    "ivory",
    "jet",
    "linen",
    "onyx",
    "pewter",
    "quartz",
    "slate",
]

SOURCE = '''"""Draws tokens; none is drawn twice."""

import hashlib
import os

WORDS = {words}


def draw():
    """A new token; its digest is kept as a record."""
    number = 10_000_000 + int.from_bytes(os.urandom(4), "big") % 90_000_000
    token = f"{{WORDS[number % len(WORDS)]}}-{{number}}"
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "drawn.txt")
    with open(place, "a", encoding="ascii") as file:
        file.write(hashlib.sha256(f"{salt}/{{token}}".encode()).hexdigest() + "\\n")
    return token
'''


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write token_source.py."""
    rng = random.Random(f"t08_execute_code/t05_stateful:{seed}")
    salt = f"{rng.getrandbits(64):016x}"
    words = rng.sample(WORDS, 6)
    source = SOURCE.format(words=words, salt=salt).encode()
    (workspace / "token_source.py").write_bytes(source)
    return {"salt": salt, "source": hashlib.sha256(source).hexdigest()}
