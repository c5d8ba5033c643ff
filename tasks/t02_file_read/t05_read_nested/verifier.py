"""Passes when the answer is the key of the nested file and of no other."""

from hemra_verifier import answer, failed, passed, showed, states


def verify(workspace, trace):
    """Every file of that name holds another key."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["key"]):
        return failed("the answer does not hold the key of the nested file")
    if any(states(said, decoy) for decoy in values["decoys"]):
        return failed("the answer also gives the key of another file of that name")
    if not trace["tools_recorded"]:
        return passed("right key; this harness records no tools, the outcome alone was judged")
    if not showed(trace, values["key"], "read_file", "terminal"):
        return failed("no successful call showed the key")
    return passed("the nested file was read and its key reported")
