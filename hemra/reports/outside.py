"""Text from outside, made fit to be shown: nothing in it steers a terminal or reorders the text around it.

Task files, harnesses, scorers and file names may hold anything. What a terminal would obey, or what nobody
sees, is written as an escape. Whatever is printed for a person goes through here.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

UNKNOWN = "—"

_NOT_PLAIN_ASCII = re.compile("[^\n\t -~]")
#: Format characters (also those that reverse the reading direction), surrogates, separators of lines.
_UNSEEN = {"Cf", "Cs", "Zl", "Zp"}


def _is_odd(character: str) -> bool:
    return character < "\xa0" or unicodedata.category(character) in _UNSEEN


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if not _is_odd(match[0]):
        return match[0]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text with every odd character as an escape; line ends, tabs and blanks stay. Twice is as once."""
    return _NOT_PLAIN_ASCII.sub(_escape, text)


def plain(value: Any) -> str:
    """The value on one line, `—` for None; see `visible`."""
    return UNKNOWN if value is None else " ".join(visible(str(value)).split())


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if _is_odd(match[0]) else match[0]


def json_text(document: Any) -> str:
    """One JSON document, indented, ending in a newline: equal data, odd characters as JSON's own escapes.

    Raises ValueError for NaN and infinity; what JSON does not know is written as its text.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2, default=str)
    return _NOT_PLAIN_ASCII.sub(_json_escape, text) + "\n"
