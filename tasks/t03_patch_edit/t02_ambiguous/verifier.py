"""Passes when the file is byte for byte what it was, with the second of the two lines changed."""

from hemra_verifier import calls, failed, passed, read, skipped

LARGEST_FILE = 20_000  # bytes, far above what was prepared


def verify(workspace, trace):
    """The exact bytes; where they differ, the reason says which line was changed."""
    values = trace["values"]
    got = read(workspace, "dup_strings.py", LARGEST_FILE)
    if got is None:
        return failed("dup_strings.py is gone, or is no plain file")
    if got == values["expected"].encode():
        if trace["tools_recorded"] and not calls(trace, ok=None):
            return skipped("the file is right, but no call is on record that could have made it so")
        return passed("the second line was changed and nothing else")
    lines = [line.strip() for line in got.decode("utf-8", "replace").splitlines()]
    found = [line for line in lines if line.startswith("foo =")]
    old, new = f"foo = {values['old']}", f"foo = {values['new']}"
    if found == [old, old]:
        return failed("neither of the two lines was changed")
    if found == [new, old]:
        return failed("the first line was changed in place of the second")
    if found == [new, new]:
        return failed("both lines were changed")
    if found == [old, new]:
        return failed("the second line was changed, and something else as well")
    return failed("the file is not what was asked for")
