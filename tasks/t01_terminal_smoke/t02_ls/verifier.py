"""Passes when the answer names every entry of the workspace and the size of its largest file."""

from hemra_verifier import answer, failed, passed, showed, states


def verify(workspace, trace):
    """Names and size are drawn per trial: only a listing tells them."""
    values = trace["values"]
    said = answer(trace)
    left_out = [name for name in values["names"] if not states(said, name)]
    if left_out:
        return failed(
            f"the answer leaves out {len(left_out)} of {len(values['names'])} names", left_out=left_out
        )
    if not states(said, values["largest_bytes"]):
        return failed("the answer does not give the size of the largest file")
    if not trace["tools_recorded"]:
        return passed("right names; this harness records no tools, the outcome alone was judged")
    unseen = [name for name in values["names"] if not showed(trace, name, "terminal")]
    if unseen:
        return failed("no successful terminal call showed every name", unseen=unseen)
    return passed("every entry was listed and named")
