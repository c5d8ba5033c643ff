"""Passes when hello.txt holds the old bytes, a blank and the globe; a newline at the very end is free."""

from hemra_verifier import calls, failed, passed, read, skipped

LARGEST_FILE = 20_000  # bytes, far above what was prepared


def verify(workspace, trace):
    """The exact bytes; where they differ, the reason says how."""
    values = trace["values"]
    got = read(workspace, "hello.txt", LARGEST_FILE)
    if got is None:
        return failed("hello.txt is gone, or is no plain file")
    old, globe = values["text"].encode(), values["globe"].encode()
    if got.removesuffix(b"\n") == old + b" " + globe:
        if trace["tools_recorded"] and not calls(trace, ok=None):
            return skipped("the file is right, but no call is on record that could have made it so")
        return passed("the greeting ends with the globe, and every other byte stayed")
    if got.removesuffix(b"\n") == old:
        return failed("hello.txt was not changed")
    if globe not in got:
        return failed("the globe that was asked for is not in hello.txt")
    if not got.startswith(old):
        return failed("what hello.txt held before is not there byte for byte")
    return failed("hello.txt does not end with one blank and the globe on the line of the greeting")
