"""Tokens of a model that does not exist: cut, numbered and weighed the same way every time."""

from __future__ import annotations

import re
import zlib

#: A blank belongs to the word behind it, as in most vocabularies; a long word is several tokens.
_TOKEN = re.compile(r"\s?\w{1,6}|\s?[^\w\s]|\s+(?=\s)|\s", re.DOTALL)

VOCABULARY = 100_000


def tokens(text: str) -> list[str]:
    """The tokens of a text, in order; joined they are the text again."""
    return _TOKEN.findall(text)


def count(text: str) -> int:
    """How many tokens a text has."""
    return len(tokens(text))


def token_id(token: str) -> int:
    """The number of a token in the vocabulary, 0 to VOCABULARY - 1."""
    return zlib.crc32(token.encode("utf-8", "surrogatepass")) % VOCABULARY


def logprob(token: str) -> float:
    """A natural logarithm of a probability that depends on the token alone, -2 to 0, 4 decimal places."""
    return -(zlib.crc32(b"p" + token.encode("utf-8", "surrogatepass")) % 20_001) / 10_000
