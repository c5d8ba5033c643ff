"""Passes when every one of the 10,000 lines is right and no call carried them written out."""

from hemra_verifier import as_text, calls, failed, passed, read, skipped

LINES = 10_000
LARGEST_FILE = 1_000_000  # bytes, some six times what was asked for
WRITTEN_OUT = 100  # lines in the arguments of one call; a script needs none


def verify(workspace, trace):
    """The exact bytes, then the arguments of the calls."""
    word = trace["values"]["word"]
    got = read(workspace, "big.txt", LARGEST_FILE)
    if got is None:
        return failed("big.txt is not there, is no plain file, or is far too large")
    lines = got.removesuffix(b"\n").split(b"\n")
    if len(lines) != LINES:
        return failed(f"big.txt has {len(lines)} lines, not {LINES}")
    for number, line in enumerate(lines, 1):
        if line != f"{word} {number}".encode():
            return failed(f"line {number} of big.txt is not {word} {number}")
    if not trace["tools_recorded"]:
        return passed(
            "every line is right; this harness records no tools, so how they were made was not judged"
        )
    if not calls(trace, ok=None):
        return skipped("every line is right, but no call is on record that could have made it so")
    most = max((as_text(call["arguments"]).count(word) for call in calls(trace)), default=0)
    if most > WRITTEN_OUT:
        return failed(f"the lines were written out in a call ({most} of them) rather than generated")
    return passed("every line is right, and they were generated")
