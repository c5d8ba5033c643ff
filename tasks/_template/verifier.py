"""Passes when the answer is the secret word of this trial."""

from hemra_verifier import answer, failed, passed, showed, states


def verify(workspace, trace):
    """Judge the outcome; where calls are recorded, only one that worked and showed the value counts."""
    secret = trace["values"]["secret"]
    if not states(answer(trace), secret):
        return failed("the answer does not hold the secret word")
    if not trace["tools_recorded"]:
        return passed("right word; this harness records no tools, the outcome alone was judged")
    if not showed(trace, secret):
        return failed("no successful call showed the secret word")
    return passed("the secret word was read and reported")
