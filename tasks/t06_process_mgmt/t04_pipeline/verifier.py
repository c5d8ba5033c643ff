"""Passes when the answer is the one value that was asked for, and the terminal showed it."""

from hemra_verifier import answer, failed, numbers, passed, showed, states


def verify(workspace, trace):
    """The value is computed when the one-liner runs; all other values of the document are wrong."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["x"]):
        return failed("the answer does not hold the x of the record that was asked for")
    if set(numbers(said)) & set(values["others"]):
        return failed("the answer also gives another value of the document")
    if not trace["tools_recorded"]:
        return passed("right value; this harness records no tools, the outcome alone was judged")
    if not showed(trace, values["x"], "terminal"):
        return failed("no successful terminal call showed the value")
    return passed("the document was parsed and the right value reported")
