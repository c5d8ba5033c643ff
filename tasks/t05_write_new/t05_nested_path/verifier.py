"""Passes when the file is at its path and holds the line and nothing else; one newline at the end is free."""

from hemra_verifier import calls, failed, passed, read, skipped, tree

LARGEST_FILE = 20_000  # bytes, far above what was asked for


def verify(workspace, trace):
    """The exact bytes at the exact path, no link on the way; what was there before is still there."""
    values = trace["values"]
    got = read(workspace, values["path"], LARGEST_FILE)
    if got is None:
        return failed(f"{values['path']} is not there, or is no plain file in plain directories")
    if got.removesuffix(b"\n") != values["content"].encode():
        return failed(f"{values['path']} does not hold exactly the line")
    if tree(workspace).get(values["beside"]) != "file":
        return failed(f"{values['beside']}, which was there before, is gone")
    if trace["tools_recorded"] and not calls(trace, ok=None):
        return skipped("the file is right, but no call is on record that could have made it so")
    return passed("the file is at its path and holds the line and nothing else")
