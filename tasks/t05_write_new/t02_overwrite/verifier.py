"""Passes when greeting.txt holds the new line alone and its neighbour is as it was."""

from hemra_verifier import calls, failed, passed, read, skipped

LARGEST_FILE = 20_000  # bytes, far above what was asked for


def verify(workspace, trace):
    """The exact bytes; how they were written does not matter."""
    values = trace["values"]
    got = read(workspace, "greeting.txt", LARGEST_FILE)
    if got is None:
        return failed("greeting.txt is gone, or is no plain file")
    if any(line.encode() in got for line in values["lines"]):
        return failed("greeting.txt still holds some of what it held before")
    if got.removesuffix(b"\n") != values["greeting"].encode():
        return failed("greeting.txt does not hold exactly the new line")
    if read(workspace, "greeting.old.txt", LARGEST_FILE) != values["old"].encode():
        return failed("greeting.old.txt was changed")
    if trace["tools_recorded"] and not calls(trace, ok=None):
        return skipped("the file is right, but no call is on record that could have made it so")
    return passed("greeting.txt holds the new line and nothing else")
