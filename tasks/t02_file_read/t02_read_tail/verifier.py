"""Passes when the answer holds the marker of the last 20 lines and the last function."""

from hemra_verifier import answer, failed, passed, showed, states


def verify(workspace, trace):
    """The marker of the tail, no decoy, and the name of the last function."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["marker"]):
        return failed("the answer does not hold the marker of the last 20 lines")
    if any(states(said, decoy) for decoy in values["decoys"]):
        return failed("the answer reports a marker that stands before the last 20 lines")
    if not states(said, values["last"]):
        return failed("the answer does not name the last function")
    if not trace["tools_recorded"]:
        return passed("right content; this harness records no tools, the outcome alone was judged")
    if not showed(trace, values["marker"], "read_file", "terminal"):
        return failed("no successful call showed the marker")
    return passed("the last 20 lines were read and reported")
