"""Passes when the answer describes the first 50 lines and nothing behind them."""

from hemra_verifier import answer, failed, passed, showed, states


def verify(workspace, trace):
    """The right marker and all functions of the window; the decoy and later functions are outside."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["marker"]):
        return failed("the answer does not hold the marker of the first 50 lines")
    missing = [name for name in values["functions"] if not states(said, name)]
    if missing:
        return failed("the answer leaves out functions of the first 50 lines", missing=missing)
    outside = [name for name in [values["decoy"], *values["outside"]] if states(said, name)]
    if outside:
        return failed("the answer reports what stands after line 50", outside=outside)
    if not trace["tools_recorded"]:
        return passed("right content; this harness records no tools, the outcome alone was judged")
    if not showed(trace, values["marker"], "read_file", "terminal"):
        return failed("no successful call showed the marker")
    return passed("the first 50 lines were read and described")
