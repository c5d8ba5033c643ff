"""Passes when the return of the second handler was changed and every other line is byte for byte what it was."""

import ast

from hemra_verifier import calls, failed, passed, read

LARGEST_FILE = 20_000  # bytes, far above what was prepared
ORDINALS = ("first", "second", "third")


def returned(line):
    """What a line returns, or None where it is no return of a constant."""
    try:
        tree = ast.parse(f"def f():\n{line}\n").body
        (statement,) = tree[0].body
        return statement.value.value if isinstance(statement, ast.Return) and len(tree) == 1 else None
    except (SyntaxError, ValueError, AttributeError, RecursionError, MemoryError):
        return None


def verify(workspace, trace):
    """Line by line; quotes and a comment in the changed line are free."""
    values = trace["values"]
    got = read(workspace, "multi.py", LARGEST_FILE)
    if got is None:
        return failed("multi.py is gone, or is no plain file")
    was, now = values["source"].encode().split(b"\n"), got.split(b"\n")
    changed = [number for number, (old, new) in enumerate(zip(was, now, strict=False)) if old != new]
    if not changed and len(was) == len(now):
        return failed("nothing was changed")
    if len(was) != len(now):
        return failed("multi.py has more or fewer lines than before")
    which = [ORDINALS[values["returns"].index(number)] for number in changed if number in values["returns"]]
    if changed != [values["returns"][1]]:
        return failed(f"{len(changed)} lines were changed, of the returns: {', '.join(which) or 'none'}")
    line = now[changed[0]].decode("utf-8", "replace")
    if not line.startswith("        ") or line.startswith("         ") or returned(line) != values["new"]:
        return failed(f"the second handler does not return {values['new']!r}")
    if trace["tools_recorded"] and not calls(trace):
        return failed("the file is right, but no call on record worked that could have made it so")
    return passed(
        "the second handler was changed and nothing else", refused_calls=len(calls(trace, ok=False))
    )
