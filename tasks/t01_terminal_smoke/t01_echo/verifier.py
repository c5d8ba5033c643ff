"""Passes when the answer is the marker that the script makes, as echo printed it."""

from hemra_verifier import answer, failed, passed, showed, states


def verify(workspace, trace):
    """The marker exists only where the script was run: in the terminal's output, then in the answer."""
    marker = trace["values"]["marker"]
    if not states(answer(trace), marker):
        return failed("the answer does not hold the marker that echo prints")
    if not trace["tools_recorded"]:
        return passed("right marker; this harness records no tools, the outcome alone was judged")
    if not showed(trace, marker, "terminal"):
        return failed("no successful terminal call printed the marker")
    return passed("echo printed the marker and the answer holds it")
