"""Edits as text: patches in the V4A form, and a Python program that makes a replacement."""

from __future__ import annotations


def updating(path: str, removed: list[str], added: list[str], after: list[str]) -> str:
    """A patch of one file with one hunk: lines taken out, lines put in, and the context behind them."""
    hunk = [f"-{line}" for line in removed] + [f"+{line}" for line in added] + [f" {line}" for line in after]
    return "\n".join(["*** Begin Patch", f"*** Update File: {path}", "@@", *hunk, "*** End Patch"])


def replacing(path: str, old: str, new: str) -> str:
    """A program that replaces the one occurrence of a text in a file, and fails where there is not one."""
    return "\n".join(
        [
            "import pathlib",
            f"path = pathlib.Path({path!r})",
            f"old, new = {old!r}, {new!r}",
            "text = path.read_bytes().decode()",
            "assert text.count(old) == 1, f'the text occurs {text.count(old)} times'",
            "path.write_bytes(text.replace(old, new).encode())",
            "print('replaced')",
        ]
    )
