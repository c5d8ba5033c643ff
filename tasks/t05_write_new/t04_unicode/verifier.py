"""Passes when unicode.txt holds the three lines in UTF-8; one newline at the end is free."""

from hemra_verifier import calls, failed, passed, read, skipped

LARGEST_FILE = 20_000  # bytes, far above what was asked for


def verify(workspace, trace):
    """The exact bytes; where they differ, the reason says in which line."""
    got = read(workspace, "unicode.txt", LARGEST_FILE)
    if got is None:
        return failed("unicode.txt is not there, or is no plain file")
    lines = got.removesuffix(b"\n").split(b"\n")
    for number, name in enumerate(("japanese", "emoji", "accented")):
        if lines[number : number + 1] != [trace["values"][name].encode()]:
            return failed(f"line {number + 1} of unicode.txt is not what was asked for, byte for byte")
    if len(lines) != 3:
        return failed("unicode.txt has more than the three lines")
    if trace["tools_recorded"] and not calls(trace, ok=None):
        return skipped("the file is right, but no call is on record that could have made it so")
    return passed("unicode.txt holds the three lines in UTF-8")
