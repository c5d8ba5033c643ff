"""Passes when greeting.txt holds the greeting and nothing else; one newline at the end is free."""

from hemra_verifier import calls, failed, passed, read, skipped

LARGEST_FILE = 20_000  # bytes, far above what was asked for


def verify(workspace, trace):
    """The exact bytes; how they were written does not matter."""
    got = read(workspace, "greeting.txt", LARGEST_FILE)
    if got is None:
        return failed("greeting.txt is not there, or is no plain file")
    if got.removesuffix(b"\n") != trace["values"]["greeting"].encode():
        return failed("greeting.txt does not hold exactly the greeting")
    if trace["tools_recorded"] and not calls(trace, ok=None):
        return skipped("the file is right, but no call is on record that could have made it so")
    return passed("greeting.txt holds the greeting and nothing else")
